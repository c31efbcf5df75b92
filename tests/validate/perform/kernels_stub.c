/* Stands in for `rehearse-kernels --serve` where there is no GPU: every line of an order takes
 * KERNELS_STUB_MS milliseconds (1). KERNELS_STUB_ORDERS: after so many orders it is gone;
 * KERNELS_STUB_LOG: what it was given, one file of all ranks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int number(const char *variable, int otherwise)
{
    const char *text = getenv(variable);
    return text != NULL ? atoi(text) : otherwise;
}

/* Rows of the list; -1 when it is none. */
static int rows_of(const char *path)
{
    char line[512];
    int rows = -1;
    FILE *file = fopen(path, "r");
    if (file == NULL || fgets(line, sizeof line, file) == NULL ||
        strcmp(line, "# rehearse.kernels/1\n") != 0)
        return -1;
    while (fgets(line, sizeof line, file) != NULL)
        rows++;
    fclose(file);
    return rows;
}

static int serve(int rows, int orders_max)
{
    char *text = NULL;
    size_t room = 0;
    printf("ready %d\n", rows);
    fflush(stdout);
    for (int orders = 0; orders < orders_max && getline(&text, &room, stdin) >= 0; orders++) {
        long count = 0;
        for (char *word = strtok(text, " \n"); word != NULL; word = strtok(NULL, " \n")) {
            if (atoi(word) < 0 || atoi(word) >= rows)
                return 1;
            count++;
        }
        count *= number("KERNELS_STUB_MS", 1);
        struct timespec wait = {count / 1000, count % 1000 * 1000000};
        nanosleep(&wait, NULL);
        printf("done %.9f\n", now_s());
        fflush(stdout);
    }
    free(text);
    return 0;
}

int main(int argc, char **argv)
{
    const char *log = getenv("KERNELS_STUB_LOG");
    if (argc != 5 || strcmp(argv[1], "--serve") != 0 || strcmp(argv[3], "--device") != 0)
        return 3;
    FILE *file = log != NULL ? fopen(log, "a") : NULL;
    if (file != NULL) {
        fprintf(file, "device %s\n", argv[4]);
        fclose(file);
    }
    int rows = rows_of(argv[2]);
    return rows <= 0 ? 3 : serve(rows, number("KERNELS_STUB_ORDERS", 1 << 30));
}

#define _GNU_SOURCE /* O_TMPFILE */
#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/json/json_internal.h"

#define CHUNK_BYTES 65536

/* Contents of pipes by path: a pipe can be read only once, and some files are inspected before they
 * are read. */
static GHashTable *piped;

static bool is_pipe(FILE *file)
{
    struct stat status;
    return fstat(fileno(file), &status) == 0 && S_ISFIFO(status.st_mode);
}

static void keep_piped(const char *path, const GByteArray *bytes)
{
    if (!piped)
        piped =
            g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_bytes_unref);
    g_hash_table_insert(piped, g_strdup(path), g_bytes_new(bytes->data, bytes->len));
}

/* Contents of a pipe read before; false: no pipe of this path was read. */
static bool read_piped(const char *path, size_t most, char **text, size_t *length)
{
    GBytes *bytes = piped ? g_hash_table_lookup(piped, path) : NULL;
    if (!bytes || g_bytes_get_size(bytes) > most)
        return false;
    *length = g_bytes_get_size(bytes);
    *text = g_malloc(*length + 1);
    if (*length > 0)
        memcpy(*text, g_bytes_get_data(bytes, NULL), *length);
    (*text)[*length] = 0;
    return true;
}

bool rh_file_read(const char *path, size_t most, char **text, size_t *length, GError **error)
{
    if (read_piped(path, most, text, length))
        return true;
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    g_autofree guint8 *chunk = g_malloc(CHUNK_BYTES);
    if (g_file_test(path, G_FILE_TEST_IS_DIR))
        return rh_fail(error, RH_ERROR_IO, "%s is a folder, not a file", path);
    FILE *file = g_fopen(path, "rb");
    if (!file)
        return rh_fail(error, RH_ERROR_IO, "cannot read %s: %s", path, g_strerror(errno));
    /* in chunks, as pipes have no size */
    for (size_t got = 1; got > 0 && bytes->len <= most;) {
        got = fread(chunk, 1, CHUNK_BYTES, file);
        g_byte_array_append(bytes, chunk, (guint)got);
    }
    int failure = ferror(file) ? errno : 0;
    if (!failure && bytes->len <= most && is_pipe(file))
        keep_piped(path, bytes);
    fclose(file);
    if (failure)
        return rh_fail(error, RH_ERROR_IO, "cannot read %s: %s", path, g_strerror(failure));
    if (bytes->len > most)
        return rh_fail(error, RH_ERROR_INPUT, "%s is larger than %zu MiB", path, most >> 20);
    *length = bytes->len;
    g_byte_array_append(bytes, (const guint8 *)"", 1);
    *text = (char *)g_byte_array_free(g_steal_pointer(&bytes), FALSE);
    return true;
}

static bool write_all(int file, const char *text, size_t length)
{
    while (length > 0) {
        ssize_t done = write(file, text, length);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return false;
        text += done;
        length -= (size_t)done;
    }
    return true;
}

/* Writes to a device or pipe, which cannot be replaced by renaming. */
static bool write_through(const char *path, const char *text, size_t length, GError **error)
{
    /* without waiting for a reader that may never come */
    int file = open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK);
    bool fine = file >= 0;
    if (!fine && errno == ENXIO)
        return rh_fail(error, RH_ERROR_IO, "cannot write %s: nobody reads this pipe", path);
    if (fine)
        fcntl(file, F_SETFL, fcntl(file, F_GETFL) & ~O_NONBLOCK);
    fine = fine && write_all(file, text, length);
    int failure = errno;
    if (file >= 0 && close(file) != 0 && fine) {
        failure = errno;
        fine = false;
    }
    return fine ? true
                : rh_fail(error, RH_ERROR_IO, "cannot write %s: %s", path, g_strerror(failure));
}

/* Target of a dangling link; `path` itself when it is no such link. Caller frees. */
static char *end_of_links(const char *path)
{
    g_autofree char *at = g_strdup(path);
    for (int hops = 0; hops < 40; hops++) {
        g_autofree char *next = g_file_read_link(at, NULL);
        if (!next)
            break;
        g_autofree char *folder = g_path_get_dirname(at);
        g_free(at);
        at = g_path_is_absolute(next) ? g_steal_pointer(&next)
                                      : g_build_filename(folder, next, NULL);
    }
    return g_steal_pointer(&at);
}

#define LINK_TRIES 16

/* Name beside `target` of the temporary file; always the same, so that the next writer replaces
 * what a killed one left. Caller frees. */
static char *name_beside(const char *target)
{
    g_autofree char *folder = g_path_get_dirname(target);
    g_autofree char *name = g_path_get_basename(target);
    return g_strdup_printf("%s/.%s.rehearse-part", folder, name);
}

/* Gives an open nameless file this name. An existing file is replaced through the name beside it: a
 * process killed between the two calls leaves a file that the next one replaces. */
static bool name_file(int file, const char *target)
{
    g_autofree char *own = g_strdup_printf("/proc/self/fd/%d", file);
    g_autofree char *beside = name_beside(target);
    (void)!unlink(beside);
    if (linkat(AT_FDCWD, own, AT_FDCWD, target, AT_SYMLINK_FOLLOW) == 0)
        return true;
    for (int i = 0; i < LINK_TRIES; i++) { /* another process may be writing the same file */
        if (linkat(AT_FDCWD, own, AT_FDCWD, beside, AT_SYMLINK_FOLLOW) != 0) {
            if (errno != EEXIST || unlink(beside) != 0)
                return false;
        } else if (rename(beside, target) == 0) {
            return true;
        } else if (errno != ENOENT) {
            (void)!unlink(beside);
            return false;
        }
    }
    return false;
}

/* Writes a file without a name and names it when it is complete, so that a killed process leaves
 * nothing. False where the file system or /proc do not support this, or it fails. `mode` -1: a new
 * file's. */
static bool write_nameless(const char *target, const char *text, size_t length, int mode)
{
    g_autofree char *folder = g_path_get_dirname(target);
    int file = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
    bool fine = file >= 0 && write_all(file, text, length) &&
                (mode < 0 || fchmod(file, (mode_t)mode) == 0) && fsync(file) == 0 &&
                name_file(file, target);
    if (file >= 0)
        close(file);
    return fine;
}

/* Opens the file beside `target`, empty and locked: -1 and errno. The lock distinguishes a running
 * writer from a killed one; a writer that finds the name on another file than it has locked, as the
 * previous writer renamed its own, begins again. */
static int open_beside(const char *beside)
{
    for (;;) {
        struct stat ours, named;
        int file = open(beside, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
        if (file < 0)
            return -1;
        while (flock(file, LOCK_EX) != 0 && errno == EINTR)
            ;
        bool named_so = fstat(file, &ours) == 0 && lstat(beside, &named) == 0 &&
                        ours.st_ino == named.st_ino && ours.st_dev == named.st_dev;
        if (named_so && ours.st_size == 0)
            return file;
        if (named_so && unlink(beside) != 0) {
            close(file);
            return -1;
        }
        close(file);
    }
}

bool rh_file_write_beside(const char *target, const char *text, size_t length, int mode)
{
    g_autofree char *beside = name_beside(target);
    int file = open_beside(beside);
    if (file < 0)
        return false;
    bool fine = write_all(file, text, length) && (mode < 0 || fchmod(file, (mode_t)mode) == 0) &&
                fsync(file) == 0 && rename(beside, target) == 0;
    int failure = errno;
    if (!fine)
        (void)!unlink(beside);
    close(file); /* and unlocks: a waiting writer sees that the name is gone */
    errno = failure;
    return fine;
}

bool rh_file_write(const char *path, const char *text, size_t length, GError **error)
{
    struct stat old;
    bool exists = stat(path, &old) == 0;
    if (exists && S_ISDIR(old.st_mode))
        return rh_fail(error, RH_ERROR_IO, "%s is a folder, not a file", path);
    if (exists && !S_ISREG(old.st_mode))
        return write_through(path, text, length, error);
    /* a link keeps pointing at its target; realpath() allocates with malloc, as g_free() takes */
    g_autofree char *target = exists ? realpath(path, NULL) : end_of_links(path);
    int mode = exists ? (int)(old.st_mode & 0777) : -1;
    if (write_nameless(target ? target : path, text, length, mode) ||
        rh_file_write_beside(target ? target : path, text, length, mode))
        return true;
    return rh_fail(error, RH_ERROR_IO, "cannot write %s: %s", path, g_strerror(errno));
}

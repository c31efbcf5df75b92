#pragma once
/* An answer as a self-contained HTML file without network access or other files (its
 * Content-Security-Policy forbids them). The answer's first sentence is its heading; cards with its
 * figures follow, then pictures (the SVG of `-o x.svg`), and the folded answer of the terminal.
 * Heading, pictures and text need no scripts; cards, tables, trees and search are made by the
 * scripts of report/html/ from the document of --json. */
#include <glib.h>
#include <stdbool.h>

typedef struct {
    const char *id;      /* "pareto": id of the section, used in links */
    const char *title;   /* title of the section */
    const char *caption; /* how to read it */
    const char *svg;
    bool wide; /* uses the whole width; others are side by side where there is room */
} RhPagePicture;

typedef struct {
    const char *command;  /* name of the subcommand, "plan" */
    const char *answer;   /* text for the terminal; its first line is the heading */
    const char *json;     /* document of --json */
    const char *facts;    /* rh_report_facts_json() and the like, or NULL */
    const char *timeline; /* rh_report_gpu_timeline_json(), or NULL */
    const RhPagePicture *pictures;
    int pictures_count;
    bool of_playground; /* the document is a grid of answers, and a script of its own shows it */
    bool of_study;      /* the document is a study's table, which has a script of its own */
    int64_t rank;       /* plans: the layout that cards and parts show; 0: the first */
} RhPage;

/* Returns the file's text, which depends only on the page. Caller frees. */
char *rh_report_page(const RhPage *page);

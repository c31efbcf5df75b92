#pragma once
/* An answer as one HTML file that needs nothing else: no network, no other file (its
 * Content-Security-Policy forbids them). The answer's first sentence is its heading, cards with its figures
 * follow, then pictures, SVG as `-o x.svg` draws them; the answer as the terminal shows it is folded behind them. Heading,
 * pictures and text stand without scripts; cards, tables, trees and search are made by the scripts of report/html/ from the
 * very document that --json prints. */
#include <glib.h>
#include <stdbool.h>

typedef struct {
    const char *id;      /* "pareto": of the section, and in links to it */
    const char *title;   /* of the section */
    const char *caption; /* how to read it */
    const char *svg;
    bool wide; /* it takes the whole width; others stand side by side where there is room */
} RhPagePicture;

typedef struct {
    const char *command;  /* "plan" */
    const char *answer;   /* as the terminal shows it; its first line is the heading */
    const char *json;     /* what --json prints */
    const char *facts;    /* rh_report_facts_json() and the like, or NULL */
    const char *timeline; /* rh_report_gpu_timeline_json(), or NULL */
    const RhPagePicture *pictures;
    int pictures_count;
    int64_t rank; /* of a plan's layouts, the one that cards and parts show; 0: the first */
} RhPage;

/* The file's text, the same for the same page. Caller frees. */
char *rh_report_page(const RhPage *page);

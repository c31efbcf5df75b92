#pragma once
/* An answer as one HTML file that needs nothing else: no network, no other file (its
 * Content-Security-Policy forbids them). The text comes first and stands without scripts; pictures are
 * SVG as `-o x.svg` draws them; tables, trees and search are made by the scripts of report/html/ from
 * the very document that --json prints. */
#include <glib.h>

typedef struct {
    const char *id;      /* "pareto": of the section, and in links to it */
    const char *title;   /* of the section */
    const char *caption; /* how to read it */
    const char *svg;
} RhPagePicture;

typedef struct {
    const char *command; /* "plan" */
    const char *answer;  /* as the terminal shows it; its first line is the heading */
    const char *json;    /* what --json prints */
    const char *facts;   /* rh_report_facts_json() and the like, or NULL */
    const char *course;  /* rh_report_course_json(), or NULL */
    const RhPagePicture *pictures;
    int pictures_count;
} RhPage;

/* The file's text, the same for the same page. Caller frees. */
char *rh_report_page(const RhPage *page);

#pragma once
/* Assets embedded into reports from report/html/ (cmake/embed.cmake): all style sheets, all
 * scripts. */
extern const char rh_html_style[];
extern const char rh_html_script[], rh_html_study_script[], rh_html_playground_script[];

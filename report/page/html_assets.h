#pragma once
/* What a report brings along, from report/html/ (cmake/embed.cmake): all style sheets, all scripts. */
extern const char rh_html_style[];
extern const char rh_html_script[];

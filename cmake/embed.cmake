# cmake -D OUT=x.c -D HEADER=x.h -D "STYLE=a.css" -D "SCRIPT=a.js;b.js" ... -P embed.cmake: texts as C arrays, each
# kind's files one after another. The arrays end in 0.
function(append_array name)
  set(bytes)
  foreach(file IN LISTS ARGN)
    file(READ "${file}" hex HEX)
    string(APPEND bytes "${hex}")
  endforeach()
  string(REGEX REPLACE "(................................................)" "\\1\n" bytes "${bytes}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  set(text "${text}\nconst char ${name}[] = {\n${bytes}0};\n" PARENT_SCOPE)
endfunction()

set(text "/* Made by cmake/embed.cmake. */\n#include \"${HEADER}\"\n")
append_array(rh_html_style ${STYLE})
append_array(rh_html_script ${SCRIPT})
append_array(rh_html_study_script ${STUDY})
append_array(rh_html_playground_script ${PLAYGROUND})
file(WRITE "${OUT}" "${text}")

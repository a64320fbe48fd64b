# SPDX-License-Identifier: MIT
# The repository checks of scripts/checks as tests labelled check, each with a second test that feeds it bad samples.
# None of them needs a build.
find_package(Python3 3.8 REQUIRED COMPONENTS Interpreter)

foreach(check IN ITEMS layers braces files names lists snippets format)
  set(script ${PROJECT_SOURCE_DIR}/scripts/checks/${check}.py)
  add_test(NAME check.${check} COMMAND Python3::Interpreter ${script})
  add_test(NAME check.${check}.refuses COMMAND Python3::Interpreter ${script} --self-test)
  set_tests_properties(check.${check} check.${check}.refuses PROPERTIES LABELS check SKIP_RETURN_CODE 77)
endforeach()

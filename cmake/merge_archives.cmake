# cmake -DINTO=lib.a -DAR=ar -DARCHIVES=a.a;b.a -DWORK=folder -P merge_archives.cmake: puts the members of other static
# libraries into one, so that its users need not have them.
foreach(archive IN LISTS ARCHIVES)
  file(REMOVE_RECURSE ${WORK})
  file(MAKE_DIRECTORY ${WORK})
  execute_process(COMMAND ${AR} x ${archive} WORKING_DIRECTORY ${WORK} COMMAND_ERROR_IS_FATAL ANY)
  file(GLOB members ${WORK}/*)
  execute_process(COMMAND ${AR} qS ${INTO} ${members} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
execute_process(COMMAND ${AR} s ${INTO} COMMAND_ERROR_IS_FATAL ANY)

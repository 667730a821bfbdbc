# One library for any x86-64 and for AVX2 with FMA; the path is chosen when the library is loaded.
#
# The sources are compiled twice. The objects of each path are linked into one object, together with a table of the public
# functions, and every other symbol is made local, so that the paths do not clash. A generated file defines the public
# functions: each is a jump through the slot of the table `tg_paths_slots`, which is the table of the baseline path until
# src/paths/choose.c overwrites it. The list of functions comes from the public headers.

if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$" OR NOT CMAKE_SYSTEM_NAME STREQUAL "Linux")
    message(FATAL_ERROR "TANGERE_PATHS needs Linux on x86-64; other systems have one path")
endif()
enable_language(ASM)
set(TANGERE_AVX2_FLAGS -mavx2 -mfma -mbmi -mbmi2)

file(GLOB public_headers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/include/tangere/*.h")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${public_headers})
set(public_functions "")
foreach(header IN LISTS public_headers)
    file(STRINGS "${header}" lines REGEX "^TG_API ")
    foreach(line IN LISTS lines)
        if(NOT line MATCHES "(tg_[a-z0-9_]+)\\(")
            message(FATAL_ERROR "${header}: no function name in '${line}'")
        endif()
        list(APPEND public_functions ${CMAKE_MATCH_1})
    endforeach()
endforeach()

set(paths_dir "${PROJECT_BINARY_DIR}/paths")
set(no_exec_stack ".section .note.GNU-stack,\"\",@progbits\n")

# tangere_path(<table> <section> <objects>): the object <table>.o, with all code of one path
function(tangere_path table section objects)
    set(text "${section}\n.balign 8\n.globl ${table}\n.hidden ${table}\n${table}:\n")
    foreach(name IN LISTS public_functions)
        string(APPEND text ".quad ${name}\n")
    endforeach()
    file(CONFIGURE OUTPUT "${paths_dir}/${table}.S" CONTENT "${text}${no_exec_stack}" @ONLY)
    add_library(${table}_table OBJECT "${paths_dir}/${table}.S")
    add_custom_command(
        OUTPUT "${paths_dir}/${table}.o"
        COMMAND "${CMAKE_LINKER}" -r -o "${paths_dir}/${table}_all.o" $<TARGET_OBJECTS:${objects}>
                $<TARGET_OBJECTS:${table}_table>
        COMMAND "${CMAKE_OBJCOPY}" --keep-global-symbol=${table} "${paths_dir}/${table}_all.o" "${paths_dir}/${table}.o"
        DEPENDS ${objects} ${table}_table $<TARGET_OBJECTS:${objects}> $<TARGET_OBJECTS:${table}_table>
        COMMAND_EXPAND_LISTS VERBATIM)
endfunction()

# what the libraries consist of, instead of the objects of one path
function(tangere_paths out)
    tangere_add_objects(tangere_objects_avx2 ${TANGERE_AVX2_FLAGS})
    tangere_path(tg_paths_slots ".data" tangere_objects)
    tangere_path(tg_paths_avx2 ".section .data.rel.ro,\"aw\"" tangere_objects_avx2)
    list(LENGTH public_functions count)
    set(text ".section .rodata\n.balign 8\n.globl tg_paths_count\n.hidden tg_paths_count\ntg_paths_count: .quad ${count}\n")
    string(APPEND text ".section .data.rel.ro,\"aw\"\n.balign 8\n.quad tg_paths_choose\n.text\n")
    set(offset 0)
    foreach(name IN LISTS public_functions)
        string(APPEND text ".balign 16\n.globl ${name}\n.type ${name},@function\n${name}:\nendbr64\n"
               "jmp *tg_paths_slots+${offset}(%rip)\n.size ${name},.-${name}\n")
        math(EXPR offset "${offset} + 8")
    endforeach()
    file(CONFIGURE OUTPUT "${paths_dir}/jumps.S" CONTENT "${text}${no_exec_stack}" @ONLY)
    add_library(tangere_jumps OBJECT "${PROJECT_SOURCE_DIR}/src/paths/choose.c" "${paths_dir}/jumps.S")
    set_target_properties(tangere_jumps PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_compile_options(tangere_jumps PRIVATE $<$<COMPILE_LANGUAGE:C>:-Wall;-Wextra>)
    set(objects "${paths_dir}/tg_paths_slots.o" "${paths_dir}/tg_paths_avx2.o")
    set_source_files_properties(${objects} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
    # two libraries use the objects: one target makes them first
    add_custom_target(tangere_path_objects DEPENDS ${objects})
    set(${out} $<TARGET_OBJECTS:tangere_jumps> ${objects} PARENT_SCOPE)
endfunction()

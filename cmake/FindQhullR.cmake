# The reentrant qhull library: QhullR_FOUND and the target QhullR::QhullR.

find_path(QhullR_INCLUDE_DIR libqhull_r/libqhull_r.h)
find_library(QhullR_LIBRARY NAMES qhull_r qhullstatic_r)
mark_as_advanced(QhullR_INCLUDE_DIR QhullR_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(QhullR REQUIRED_VARS QhullR_LIBRARY QhullR_INCLUDE_DIR)

if(QhullR_FOUND AND NOT TARGET QhullR::QhullR)
    add_library(QhullR::QhullR UNKNOWN IMPORTED)
    set_target_properties(
        QhullR::QhullR PROPERTIES
        IMPORTED_LOCATION "${QhullR_LIBRARY}"
        INTERFACE_INCLUDE_DIRECTORIES "${QhullR_INCLUDE_DIR}")
endif()

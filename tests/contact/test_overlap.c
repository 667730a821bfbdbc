/* Geoms that overlap in the reference pose; the rest of the tests are in Python. */
#include "base/arena.h"
#include "model/model.h"
#include "tangere/contact.h"

#include "contact_test.h"

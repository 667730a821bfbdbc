/* How much a test that draws samples does. A sanitizer looks for errors of memory, not of numbers, and runs ten times
 * slower: it gets a tenth. */
#ifndef TG_TEST_EFFORT_H
#define TG_TEST_EFFORT_H

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TEST_EFFORT 10
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TEST_EFFORT 10
#endif
#endif
#ifndef TEST_EFFORT
#define TEST_EFFORT 1
#endif

#endif

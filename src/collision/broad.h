/* The broad phase: which pairs of geoms are near enough for a closer look. */
#ifndef TG_COLLISION_BROAD_H
#define TG_COLLISION_BROAD_H

#include <stdbool.h>
#include <stdint.h>

/* Bounds of n geoms, grown by what they may move: a sphere and a box with the world's axes around the same centre.
 * Arrays of v4_pad(n) doubles, 32-byte aligned; behind n, halves are -INFINITY. A plane has infinite bounds. */
typedef struct tg_bounds
{
    int n;
    double *centre[3], *half[3], *radius;
    double *scratch; /* as much again: many geoms in the order of a sweep */
} tg_bounds;

/* Numbers of doubles that a tg_bounds of n geoms needs, and its arrays laid out in them. */
int tg_bounds_size(int n);
tg_bounds tg_bounds_place(double *memory, int n);

enum
{
    TG_SWEEP_ABOVE = 128 /* geoms: below, all pairs at once cost less than sorting */
};

/* Which geoms may collide. A bit matrix of n rows: bit j of row i (j > i) says that geoms i and j may; words = uint64_t
 * a row. More than TG_SWEEP_ABOVE geoms may have a function in its place (bits NULL), i < j. */
typedef struct tg_allowed
{
    int words;
    const uint64_t *bits;
    bool (*may)(const void *context, int i, int j);
    const void *context;
} tg_allowed;

static inline int tg_allowed_words(int n)
{
    return (n + 63) / 64;
}

typedef struct tg_geom_pair
{
    int first, second; /* first < second */
} tg_geom_pair;

/* Pairs whose spheres and boxes overlap and that are allowed, in the order of (first, second). Writes at most capacity
 * and returns how many there are. order: scratch of 2 n ints. Few geoms are compared all with all, four at a time; many
 * are swept along the axis on which they spread most. */
int tg_broad_phase(const tg_bounds *bounds, tg_allowed allowed, int *order, tg_geom_pair *pairs, int capacity);

#endif

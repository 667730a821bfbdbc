/* bench_pairs: the narrow phase of every pair of shapes beside Coal's, at random poses from 5 cm apart to 5 cm deep.
 *
 * Compared are the fastest calls of both that give signed distance, normal and points, from shapes that are made and
 * poses that are matrices before the clock starts: tg_narrow, which gives the whole patch, and a ComputeDistance (one
 * point, tolerance 1e-6). Beside them stand what users call: tg_collide_pair, which checks shapes and poses and turns
 * quaternions into matrices first, coal::distance and coal::collide (one contact). Of every hundred poses the smallest
 * time counts. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "collision/narrow.h"
#include "engine_coal.h"
#include "tangere/tangere.h"

enum
{
    POSES = 1000,
    BLOCK = 100, /* poses between two looks at the clock */
    BLOCKS = POSES / BLOCK,
    VERTICES = 30
};

static const char *const names[TG_GEOM_TYPE_COUNT] = {"plane",     "height field", "sphere", "capsule",
                                                      "ellipsoid", "cylinder",     "box",    "mesh"};
static const double sizes[TG_GEOM_TYPE_COUNT][3] = {
    [TG_GEOM_SPHERE] = {0.2},         [TG_GEOM_CAPSULE] = {0.1, 0.2},   [TG_GEOM_ELLIPSOID] = {0.2, 0.15, 0.1},
    [TG_GEOM_CYLINDER] = {0.15, 0.2}, [TG_GEOM_BOX] = {0.2, 0.15, 0.1}, [TG_GEOM_MESH] = {1, 1, 1},
};

typedef struct pair_case
{
    tg_shape shape[2];
    double pose[2][POSES][7];
    tg_query query[POSES];
    coal_pair *coal;
    double sum; /* so that no call is left out */
} pair_case;

static double uniform(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (double)*seed / 2147483648.0 - 1;
}

static void random_pose(double pose[7], unsigned *seed)
{
    double squared;
    do
    {
        squared = 0;
        for (int i = 0; i < 7; i++)
            pose[i] = uniform(seed);
        for (int i = 3; i < 7; i++)
            squared += pose[i] * pose[i];
    } while (squared < 0.1 || squared > 1);
    for (int i = 3; i < 7; i++)
        pose[i] /= sqrt(squared);
}

/* Moves the second shape along the normal, a few times, until the two are `wanted` apart or nearly. */
static void bring_to(pair_case *c, int i, double wanted)
{
    tg_contact contact;
    tg_error error;
    for (int step = 0; step < 3; step++)
    {
        if (tg_distance(&c->shape[0], c->pose[0][i], &c->shape[1], c->pose[1][i], &contact, &error) != TG_OK)
            bench_die("%s", error.message);
        for (int k = 0; k < 3; k++)
            c->pose[1][i][k] += (wanted - contact.distance) * contact.normal[k];
    }
}

static tg_query query_of(const pair_case *c, int i, const tg_polytope *mesh)
{
    tg_query q = {.reach = INFINITY};
    for (int k = 0; k < 2; k++)
    {
        tg_geom_type type = c->shape[k].type;
        q.shape[k] = (tg_placed){.R = mat3_from_quat(c->pose[k][i] + 3),
                                 .x = v4_load3(c->pose[k][i]),
                                 .size = {c->shape[k].size[0], c->shape[k].size[1], c->shape[k].size[2]},
                                 .type = type,
                                 .polytope = type == TG_GEOM_BOX    ? &tg_unit_cube
                                             : type == TG_GEOM_MESH ? mesh
                                                                    : NULL};
    }
    return q;
}

static void prepare(pair_case *c, tg_geom_type a, tg_geom_type b, const double *vertex, const tg_hull *hull,
                    const tg_polytope *mesh)
{
    unsigned seed = 1;
    const tg_geom_type type[2] = {a, b};
    double size[2][3];
    for (int i = 0; i < 2; i++)
    {
        c->shape[i] = tg_default_shape();
        c->shape[i].type = type[i];
        c->shape[i].hull = hull;
        memcpy(size[i], sizes[type[i]], sizeof size[i]);
        memcpy(c->shape[i].size, size[i], sizeof size[i]);
    }
    for (int i = 0; i < POSES; i++)
    {
        random_pose(c->pose[0][i], &seed);
        random_pose(c->pose[1][i], &seed);
        bring_to(c, i, 0.05 * uniform(&seed));
    }
    for (int i = 0; i < POSES; i++)
        c->query[i] = query_of(c, i, mesh);
    c->coal = coal_pair_create(type, size[0], vertex, VERTICES);
    if (c->coal == NULL)
        bench_die("Coal has no pair of a %s and a %s", names[a], names[b]);
    coal_pair_poses(c->coal, c->pose[0][0], c->pose[1][0], POSES);
}

static double narrow(pair_case *c, int block)
{
    tg_patch patch;
    double start = bench_clock();
    for (int i = BLOCK * block; i < BLOCK * (block + 1); i++)
    {
        tg_narrow(&c->query[i], &patch);
        c->sum += patch.point[0].distance;
    }
    return 1e6 * (bench_clock() - start) / POSES;
}

static double own(pair_case *c, int block)
{
    tg_collide_options options = tg_default_collide_options();
    tg_contact contact[TG_CONTACTS_A_PAIR];
    int count;
    options.reach = INFINITY;
    double start = bench_clock();
    for (int i = BLOCK * block; i < BLOCK * (block + 1); i++)
    {
        if (tg_collide_pair(&c->shape[0], c->pose[0][i], &c->shape[1], c->pose[1][i], &options, contact,
                            TG_CONTACTS_A_PAIR, &count, NULL) != TG_OK)
            bench_die("tg_collide_pair failed");
        c->sum += contact[0].distance;
    }
    return 1e6 * (bench_clock() - start) / POSES;
}

static double peer(pair_case *c, int block, coal_pair_function *call)
{
    double normal[3], start = bench_clock();
    for (int i = BLOCK * block; i < BLOCK * (block + 1); i++)
        c->sum += call(c->coal, i, normal);
    return 1e6 * (bench_clock() - start) / POSES;
}

static double compute(pair_case *c, int block)
{
    return peer(c, block, coal_pair_compute);
}

static double distance(pair_case *c, int block)
{
    return peer(c, block, coal_pair_distance);
}

static double collide(pair_case *c, int block)
{
    return peer(c, block, coal_pair_collide);
}

enum
{
    CALLS = 5
};

/* The mean time of each call in us. A repetition runs all poses, so that branches are predicted as in a scene that
 * is new; every block keeps the smallest of its times. */
static void measure(pair_case *c, int repetitions, double mean[CALLS])
{
    double (*const call[CALLS])(pair_case *, int) = {narrow, compute, own, distance, collide};
    for (int k = 0; k < CALLS; k++)
    {
        double best[BLOCKS];
        for (int i = 0; i < repetitions; i++)
            for (int block = 0; block < BLOCKS; block++)
            {
                double time = call[k](c, block);
                best[block] = i == 0 ? time : fmin(best[block], time);
            }
        mean[k] = 0;
        for (int block = 0; block < BLOCKS; block++)
            mean[k] += best[block];
    }
}

/* the share of poses at which the distances differ by more than 1 um, and which engine is wrong is for the tests to say
 */
static double differing(pair_case *c)
{
    int count = 0;
    for (int i = 0; i < POSES; i++)
    {
        tg_contact contact;
        double normal[3];
        if (tg_distance(&c->shape[0], c->pose[0][i], &c->shape[1], c->pose[1][i], &contact, NULL) != TG_OK)
            bench_die("tg_distance failed");
        count += fabs(contact.distance - coal_pair_compute(c->coal, i, normal)) > 1e-6;
    }
    return 100.0 * count / POSES;
}

static void run_pair(tg_geom_type a, tg_geom_type b, const double *vertex, const tg_hull *hull, const tg_polytope *mesh,
                     int repetitions)
{
    pair_case *c = bench_alloc(1, sizeof *c);
    double mean[CALLS];
    prepare(c, a, b, vertex, hull, mesh);
    measure(c, repetitions, mean);
    printf("| %s, %s | %.4f | %.4f | %.2f | %.3f | %.3f | %.3f | %.1f |\n", names[a], names[b], mean[0], mean[1],
           mean[0] / mean[1], mean[2], mean[3], mean[4], differing(c));
    fflush(stdout);
    coal_pair_destroy(c->coal);
    free(c);
}

/* NULL: all pairs */
static bool is_wanted(tg_geom_type a, tg_geom_type b, const char *pair)
{
    char name[64];
    snprintf(name, sizeof name, "%s,%s", names[a], names[b]);
    return pair == NULL || strcmp(pair, name) == 0;
}

int main(int argc, char **argv)
{
    int repetitions = argc > 1 ? atoi(argv[1]) : 15;
    double vertex[3 * VERTICES];
    unsigned seed = 7;
    tg_hull *hull = NULL;
    tg_polytope *mesh = NULL;
    tg_error error;
    if (argc > 3 || repetitions < 1)
        bench_die("usage: bench_pairs [REPETITIONS [NAME,NAME]]");
    for (int i = 0; i < VERTICES; i++)
    {
        double p[7];
        random_pose(p, &seed);
        for (int k = 0; k < 3; k++)
            vertex[3 * i + k] = 0.2 * p[k];
    }
    if (tg_hull_create(vertex, VERTICES, NULL, &hull, &error) != TG_OK ||
        tg_polytope_create(NULL, vertex, VERTICES, &mesh, &error) != TG_OK)
        bench_die("%s", error.message);
    printf("Tangere %s beside Coal, core %d, %d poses, %d repetitions; us a pair\n\n", tg_version(), bench_pin(-1),
           POSES, repetitions);
    printf(
        "| pair | tg_narrow | ComputeDistance | ratio | tg_collide_pair | coal::distance | coal::collide | distances "
        "that differ by more than 1 um, %% |\n"
        "| --- | --- | --- | --- | --- | --- | --- | --- |\n");
    for (tg_geom_type a = TG_GEOM_PLANE; a <= TG_GEOM_MESH; a++)
        for (tg_geom_type b = a; b <= TG_GEOM_MESH; b++)
            if (a != TG_GEOM_HFIELD && b > TG_GEOM_HFIELD && is_wanted(a, b, argc > 2 ? argv[2] : NULL))
                run_pair(a, b, vertex, hull, mesh, repetitions);
    tg_polytope_destroy(NULL, mesh);
    tg_hull_destroy(hull);
    return 0;
}

// Forward and backward of the QCQP layer, ours and diffqcqp's (its Solver.cpp, built beside this file by qcqp.py), in
// turns.
//
// Problems as in the paper's Fig. 3: P = A A^T / m + 1e-3, A normal, q normal, radii 0.1 to 1, tolerance 1e-9. Prints
// one line per size: contacts, medians over problems of the least of several runs (us): ours forward, with the promise
// that G is semidefinite, ours backward, theirs forward, theirs backward; the largest difference of x and of the
// gradient of q.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "Solver.hpp"
#include "tangere/qcqp.h"

using Eigen::MatrixXd;
using Eigen::VectorXd;

template <class F> static double least(int repeats, F f)
{
    double best = 1e99;
    for (int i = 0; i < repeats; i++)
    {
        auto start = std::chrono::steady_clock::now();
        f();
        best =
            std::min(best, std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
    }
    return best;
}

static double median(std::vector<double> a)
{
    std::sort(a.begin(), a.end());
    return a[a.size() / 2];
}

static tg_qcqp *workspace(int blocks, bool semidefinite)
{
    tg_qcqp_def def = tg_default_qcqp();
    tg_qcqp *q = nullptr;
    tg_error error;
    def.blocks = blocks;
    def.threads = 1;
    def.semidefinite = semidefinite;
    if (tg_qcqp_create(&def, &q, &error) != TG_OK)
        std::fprintf(stderr, "%s\n", error.message), std::exit(1);
    return q;
}

static void row(int blocks, int problems, int repeats)
{
    int n = 2 * blocks;
    std::mt19937_64 random(19 + blocks);
    std::normal_distribution<double> normal;
    std::uniform_real_distribution<double> radius(0.1, 1);
    tg_qcqp *q = workspace(blocks, false), *trusted = workspace(blocks, true);
    Solver peer;
    std::vector<double> time[5];
    double apart = 0, apart_gradient = 0;
    for (int k = 0; k < problems; k++)
    {
        MatrixXd A = MatrixXd::NullaryExpr(n, n, [&] { return normal(random); });
        MatrixXd P = A * A.transpose() / n + 1e-3 * MatrixXd::Identity(n, n);
        P = 0.5 * (P + P.transpose()).eval();
        VectorXd g = VectorXd::NullaryExpr(n, [&] { return normal(random); });
        VectorXd r = VectorXd::NullaryExpr(blocks, [&] { return radius(random); }), one = VectorXd::Ones(blocks);
        VectorXd bar = VectorXd::NullaryExpr(n, [&] { return normal(random); }), x(n), gbar(n), mubar(blocks),
                 lbar(blocks);
        MatrixXd Pbar(n, n);
        tg_qcqp_data data = {1, P.data(), g.data(), one.data(), r.data()};
        tg_qcqp_tangent out = {Pbar.data(), gbar.data(), mubar.data(), lbar.data()};
        tg_qcqp_label label;
        VectorXd z, b, zero = VectorXd::Zero(n);
        MatrixXd Pz(n, n);
        time[0].push_back(least(repeats, [&] { tg_qcqp_solve(q, &data, nullptr, x.data(), nullptr); }));
        time[1].push_back(least(repeats, [&] { tg_qcqp_solve(trusted, &data, nullptr, x.data(), nullptr); }));
        time[2].push_back(least(repeats, [&] { tg_qcqp_vjp(trusted, &data, x.data(), bar.data(), &out, &label); }));
        time[3].push_back(least(repeats, [&] { z = peer.solveQCQP(P, g, r, zero, 1e-9, 1e-7, 1000, true); }));
        time[4].push_back(least(repeats, [&] {
            VectorXd gamma = peer.dualFromPrimalQCQP(P, g, r, z, 1e-10);
            b = peer.solveDerivativesQCQP(P, g, r, z, gamma, bar, 1e-10);
            VectorXd bl = b.tail(n);
            Pz.noalias() = -0.5 * (bl * z.transpose() + z * bl.transpose());
        }));
        apart = std::max(apart, (x - z).cwiseAbs().maxCoeff());
        apart_gradient =
            std::max(apart_gradient, (gbar + b.tail(n)).cwiseAbs().maxCoeff() / gbar.cwiseAbs().maxCoeff());
    }
    std::printf("%d", blocks);
    for (auto &t : time)
        std::printf(" %.3f", median(t));
    std::printf(" %.1e %.1e\n", apart, apart_gradient);
    std::fflush(stdout);
    tg_qcqp_destroy(q);
    tg_qcqp_destroy(trusted);
}

int main()
{
    const int sizes[] = {1, 2, 4, 8, 16, 32, 64, 100, 200};
    for (int blocks : sizes)
        row(blocks, blocks > 50 ? 7 : 25, blocks > 50 ? 3 : 40);
}

// particle and saddle: nested gradient descent, with derivatives by hand.

#include <math.h>
#include <stddef.h>
#include <string.h>

enum { MOST = 4 };

typedef double (*Objective)(const double *x, const void *context, double *gradient);

static double length(size_t n, const double *x) {
  double square = 0;
  for (size_t i = 0; i < n; i++) square += x[i] * x[i];
  return sqrt(square);
}

// The search of `benchmarks.gradbench.descent`, in place.
static void argmin(size_t n, Objective f, const void *context, double *x) {
  double gradient[MOST], moved[MOST], step[MOST], rate = 1e-5, value = f(x, context, gradient);
  for (int successes = 0; length(n, gradient) > 1e-5;) {
    if (successes == 10) {
      rate *= 2;
      successes = 0;
      continue;
    }
    for (size_t i = 0; i < n; i++) moved[i] = x[i] - rate * gradient[i], step[i] = x[i] - moved[i];
    if (length(n, step) <= 1e-5) return;
    const double found = f(moved, context, NULL);
    if (found < value) {
      memcpy(x, moved, n * sizeof *x);
      value = f(x, context, gradient);
      successes++;
    } else {
      rate /= 2;
      successes = 0;
    }
  }
}

// The force at x, its Jacobian by x, and its derivative by w, from a charge at (10, y) where dy/dw is given.
static void add_force(const double *x, double y, double dy, double *force, double by_x[2][2], double *by_w) {
  const double off[2] = {x[0] - 10, x[1] - y}, square = off[0] * off[0] + off[1] * off[1];
  const double cube = 1 / (square * sqrt(square));
  for (int i = 0; i < 2; i++) {
    force[i] += off[i] * cube;
    for (int j = 0; j < 2; j++) by_x[i][j] += cube * ((i == j) - 3 * off[i] * off[j] / square);
    by_w[i] -= dy * cube * ((i == 1) - 3 * off[i] * off[1] / square);
  }
}

static double miss(const double *w, const void *context, double *gradient) {
  const double dt = 0.1;
  double x[2] = {0, 8}, v[2] = {0.75, 0}, dx[2] = {0, 0}, dv[2] = {0, 0};
  (void)context;
  while (x[1] + dt * v[1] > 0) {
    double force[2] = {0, 0}, by_x[2][2] = {{0, 0}, {0, 0}}, by_w[2] = {0, 0}, change[2];
    add_force(x, 10 - *w, -1, force, by_x, by_w);
    add_force(x, 0, 0, force, by_x, by_w);
    for (int i = 0; i < 2; i++) change[i] = by_x[i][0] * dx[0] + by_x[i][1] * dx[1] + by_w[i];
    for (int i = 0; i < 2; i++) {
      x[i] += dt * v[i], dx[i] += dt * dv[i];
      v[i] += dt * force[i], dv[i] += dt * change[i];
    }
  }
  const double time = -x[1] / v[1], dtime = -(dx[1] + time * dv[1]) / v[1], place = x[0] + time * v[0];
  if (gradient) *gradient = 2 * place * (dx[0] + dtime * v[0] + time * dv[0]);
  return place * place;
}

double particle(double w) {
  argmin(1, miss, NULL, &w);
  return w;
}

// The value for given p as a function of q, with its sign turned.
static double depth(const double *q, const void *p, double *gradient) {
  const double *at = p;
  if (gradient) gradient[0] = 2 * q[0], gradient[1] = 2 * q[1];
  return q[0] * q[0] + q[1] * q[1] - at[0] * at[0] - at[1] * at[1];
}

// The largest value for given p; its derivative by p, as q does not depend on p.
static double highest(const double *p, const void *start, double *gradient) {
  double q[2];
  memcpy(q, start, sizeof q);
  argmin(2, depth, p, q);
  if (gradient) gradient[0] = 2 * p[0], gradient[1] = 2 * p[1];
  return -depth(q, p, NULL);
}

void saddle(const double *start, double *found) {
  memcpy(found, start, 2 * sizeof *found);
  argmin(2, highest, start, found);
  memcpy(found + 2, start, 2 * sizeof *found);
  argmin(2, depth, found, found + 2);
}

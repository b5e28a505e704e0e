// llsq, lse, ode, kmeans and det: value and derivative by hand, in the loops that one would write.

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

// gradient: m
void llsq_gradient(size_t n, size_t m, const double *restrict x, double *restrict gradient) {
  memset(gradient, 0, m * sizeof *gradient);
  for (size_t i = 0; i < n; i++) {
    double t = -1 + i * 2.0 / (n - 1), power = 1, residual = (t > 0) - (t < 0);
    for (size_t j = 0; j < m; j++, power *= t) residual -= x[j] * power;
    power = 1;
    for (size_t j = 0; j < m; j++, power *= t) gradient[j] -= residual * power;
  }
}

// gradient: n
void lse_gradient(size_t n, const double *restrict x, double *restrict gradient) {
  double largest = x[0], sum = 0;
  for (size_t i = 1; i < n; i++) largest = x[i] > largest ? x[i] : largest;
  for (size_t i = 0; i < n; i++) sum += gradient[i] = exp(x[i] - largest);
  for (size_t i = 0; i < n; i++) gradient[i] /= sum;
}

// One step from y: the four slopes, and the points where the last three are taken.
static void ode_stages(size_t n, const double *restrict x, double h, const double *restrict y, double *restrict k,
                       double *restrict at) {
  const double part[4] = {0, h / 2, h / 2, h};
  for (int stage = 0; stage < 4; stage++) {
    double *slope = k + stage * n, *point = at + stage * n;
    for (size_t i = 0; i < n; i++) point[i] = stage ? y[i] + part[stage] * slope[(ptrdiff_t)i - (ptrdiff_t)n] : y[i];
    slope[0] = x[0];
    for (size_t i = 1; i < n; i++) slope[i] = x[i] * point[i - 1];
  }
}

// gradient of the last element: n
void ode_gradient(size_t n, size_t s, const double *restrict x, double *restrict gradient) {
  const double h = 2.0 / s, weight[4] = {h / 6, h / 3, h / 3, h / 6}, part[4] = {0, h / 2, h / 2, h};
  double *y = calloc((s + 1) * n, sizeof *y), *k = malloc(4 * n * sizeof *k), *at = malloc(4 * n * sizeof *at);
  double *d_y = calloc(n, sizeof *d_y), *d_k = malloc(4 * n * sizeof *d_k);
  for (size_t step = 0; step < s; step++) {
    double *now = y + step * n;
    ode_stages(n, x, h, now, k, at);
    for (size_t i = 0; i < n; i++)
      now[n + i] = now[i] + h * (k[i] + 2 * k[n + i] + 2 * k[2 * n + i] + k[3 * n + i]) / 6;
  }
  memset(gradient, 0, n * sizeof *gradient);
  d_y[n - 1] = 1;
  for (size_t step = s; step-- > 0;) {
    ode_stages(n, x, h, y + step * n, k, at);
    for (int stage = 0; stage < 4; stage++)
      for (size_t i = 0; i < n; i++) d_k[stage * n + i] = weight[stage] * d_y[i];
    for (int stage = 3; stage >= 0; stage--) {
      double *restrict d = d_k + stage * n, *restrict before = d - n;
      const double *restrict point = at + stage * n;
      gradient[0] += d[0];
      for (size_t i = 1; i < n; i++) {
        const double d_point = d[i] * x[i];
        gradient[i] += d[i] * point[i - 1];
        d_y[i - 1] += d_point;
        if (stage) before[i - 1] += part[stage] * d_point;
      }
    }
  }
  free(y), free(k), free(at), free(d_y), free(d_k);
}

// direction: k * d, the gradient divided by the diagonal of the Hessian
void kmeans_direction(size_t n, size_t k, size_t d, const double *restrict points, const double *restrict centroids,
                      double *restrict direction) {
  size_t *sizes = calloc(k, sizeof *sizes);
  double *sums = calloc(k * d, sizeof *sums);
  for (size_t i = 0; i < n; i++) {
    const double *point = points + i * d;
    double closest = INFINITY;
    size_t nearest = 0;
    for (size_t j = 0; j < k; j++) {
      double distance = 0;
      for (size_t l = 0; l < d; l++) {
        const double difference = point[l] - centroids[j * d + l];
        distance += difference * difference;
      }
      if (distance < closest) closest = distance, nearest = j;
    }
    sizes[nearest]++;
    for (size_t l = 0; l < d; l++) sums[nearest * d + l] += point[l];
  }
  for (size_t j = 0; j < k; j++)
    for (size_t l = 0; l < d; l++) direction[j * d + l] = centroids[j * d + l] - sums[j * d + l] / sizes[j];
  free(sizes), free(sums);
}

// The rows and columns of a minor are linked lists: those after a row in r, the first of them in r[n].
static double minor(const double *a, size_t n, size_t m, size_t *r, size_t *c) {
  const size_t row = r[n];
  size_t column = c[n], before = n;
  double total = 0, sign = 1;
  if (m == 1) return a[row * n + column];
  r[n] = r[row];
  for (size_t j = 0; j < m; j++, sign = -sign) {
    c[before] = c[column];
    total += sign * a[row * n + column] * minor(a, n, m - 1, r, c);
    c[before] = column;
    before = column;
    column = c[column];
  }
  r[n] = row;
  return total;
}

// gradient: n * n
void det_gradient(size_t n, const double *a, double *gradient) {
  size_t r[n + 1], c[n + 1];
  for (size_t i = 0; i < n; i++) r[i] = c[i] = i + 1;
  r[n] = c[n] = 0;
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < n; j++) {
      r[i == 0 ? n : i - 1] = i + 1;
      c[j == 0 ? n : j - 1] = j + 1;
      gradient[i * n + j] = ((i + j) % 2 ? -1 : 1) * minor(a, n, n - 1, r, c);
      r[i == 0 ? n : i - 1] = i;
      c[j == 0 ? n : j - 1] = j;
    }
}

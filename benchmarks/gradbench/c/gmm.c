// gmm: the gradient by hand, point by point, as in the tool "manual" of GradBench.

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

static double softmax(size_t n, double *x) {
  double largest = x[0], sum = 0;
  for (size_t i = 1; i < n; i++) largest = x[i] > largest ? x[i] : largest;
  for (size_t i = 0; i < n; i++) sum += x[i] = exp(x[i] - largest);
  for (size_t i = 0; i < n; i++) x[i] /= sum;
  return largest + log(sum);
}

// d_alpha: k, d_mu: k * d, d_q: k * d, d_l: k * d (d - 1) / 2
void gmm_gradient(size_t d, size_t k, size_t n, const double *restrict alpha, const double *restrict mu,
                  const double *restrict q, const double *restrict l, const double *restrict x, double gamma,
                  double m, double *restrict d_alpha, double *restrict d_mu, double *restrict d_q,
                  double *restrict d_l) {
  const size_t below = d * (d - 1) / 2;
  double *diagonal = malloc(k * d * sizeof *diagonal), *sums = calloc(k, sizeof *sums);
  double *centred = malloc(d * sizeof *centred), *scaled = malloc(d * sizeof *scaled);
  double *share = malloc(k * sizeof *share), *now_mu = malloc(k * d * sizeof *now_mu);
  double *now_q = malloc(k * d * sizeof *now_q), *now_l = malloc(k * below * sizeof *now_l);
  for (size_t i = 0; i < k * d; i++) diagonal[i] = exp(q[i]), sums[i / d] += q[i];
  for (size_t c = 0; c < k; c++) d_alpha[c] = 0;
  for (size_t i = 0; i < k * d; i++) d_mu[i] = d_q[i] = 0;
  for (size_t i = 0; i < k * below; i++) d_l[i] = 0;

  for (size_t point = 0; point < n; point++) {
    for (size_t c = 0; c < k; c++) {
      const double *lower = l + c * below, *diag = diagonal + c * d;
      double *by_mu = now_mu + c * d, *by_q = now_q + c * d, *by_l = now_l + c * below, square = 0;
      for (size_t i = 0; i < d; i++) {
        centred[i] = x[point * d + i] - mu[c * d + i];
        scaled[i] = diag[i] * centred[i];
      }
      for (size_t j = 0, at = 0; j < d; j++)
        for (size_t i = j + 1; i < d; i++, at++) scaled[i] += lower[at] * centred[j];
      for (size_t i = 0; i < d; i++) {
        square += scaled[i] * scaled[i];
        by_mu[i] = diag[i] * scaled[i];
        by_q[i] = 1 - diag[i] * centred[i] * scaled[i];
      }
      for (size_t j = 0, at = 0; j < d; j++)
        for (size_t i = j + 1; i < d; i++, at++) {
          by_mu[j] += lower[at] * scaled[i];
          by_l[at] = -centred[j] * scaled[i];
        }
      share[c] = alpha[c] + sums[c] - square / 2;
    }
    softmax(k, share);
    for (size_t c = 0; c < k; c++) {
      d_alpha[c] += share[c];
      for (size_t i = c * d; i < (c + 1) * d; i++) {
        d_mu[i] += now_mu[i] * share[c];
        d_q[i] += now_q[i] * share[c];
      }
      for (size_t i = c * below; i < (c + 1) * below; i++) d_l[i] += now_l[i] * share[c];
    }
  }
  for (size_t c = 0; c < k; c++) share[c] = alpha[c];
  softmax(k, share);
  for (size_t c = 0; c < k; c++) d_alpha[c] -= n * share[c];
  for (size_t i = 0; i < k * d; i++) d_q[i] += m - gamma * gamma * diagonal[i] * diagonal[i];
  for (size_t i = 0; i < k * below; i++) d_l[i] -= gamma * gamma * l[i];
  free(diagonal), free(sums), free(centred), free(scaled), free(share), free(now_mu), free(now_q), free(now_l);
}

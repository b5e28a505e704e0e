// ba: the Jacobian by hand, one observation after the other.

#include <math.h>
#include <stddef.h>

enum { CAMERA = 11, WIDTH = CAMERA + 4 };

// out = v x a
static void cross(const double *v, const double *a, double *out) {
  out[0] = v[1] * a[2] - v[2] * a[1];
  out[1] = v[2] * a[0] - v[0] * a[2];
  out[2] = v[0] * a[1] - v[1] * a[0];
}

// Rotate x about the axis r by its length; by_r and by_x (3 * 3) are the Jacobians.
static void rotate(const double *r, const double *x, double *out, double *by_r, double *by_x) {
  const double angle = sqrt(r[0] * r[0] + r[1] * r[1] + r[2] * r[2]), c = cos(angle), s = sin(angle);
  const double w[3] = {r[0] / angle, r[1] / angle, r[2] / angle};
  const double along = w[0] * x[0] + w[1] * x[1] + w[2] * x[2];
  const double wx[9] = {0, -w[2], w[1], w[2], 0, -w[0], -w[1], w[0], 0};
  const double xx[9] = {0, x[2], -x[1], -x[2], 0, x[0], x[1], -x[0], 0};
  double turned[3];
  cross(w, x, turned);
  for (int i = 0; i < 3; i++) out[i] = x[i] * c + turned[i] * s + w[i] * along * (1 - c);
  for (int i = 0; i < 3; i++) {
    double by_w[3];
    for (int j = 0; j < 3; j++) {
      by_x[3 * i + j] = (i == j) * c + s * wx[3 * i + j] + (1 - c) * w[i] * w[j];
      by_w[j] = s * xx[3 * i + j] + (1 - c) * (w[i] * x[j] + (i == j) * along);
    }
    const double by_angle = -x[i] * s + turned[i] * c + w[i] * along * s;
    const double inward = by_w[0] * w[0] + by_w[1] * w[1] + by_w[2] * w[2];
    for (int j = 0; j < 3; j++) by_r[3 * i + j] = by_angle * w[j] + (by_w[j] - inward * w[j]) / angle;
  }
}

// values: 2 * 15 * count, then count
void ba_jacobian(size_t count, const double *restrict cameras, const double *restrict points,
                 const double *restrict weights, const double *restrict features, const ptrdiff_t *restrict seen,
                 double *restrict values) {
  for (size_t observation = 0; observation < count; observation++) {
    const double *camera = cameras + CAMERA * seen[2 * observation], weight = weights[observation];
    const double *point = points + 3 * seen[2 * observation + 1], *feature = features + 2 * observation;
    const double off[3] = {point[0] - camera[3], point[1] - camera[4], point[2] - camera[5]};
    const double focal = camera[6], k1 = camera[9], k2 = camera[10];
    double x[3], by_r[9], by_x[9];
    rotate(camera, off, x, by_r, by_x);
    const double image[2] = {x[0] / x[2], x[1] / x[2]}, square = image[0] * image[0] + image[1] * image[1];
    const double stretch = 1 + k1 * square + k2 * square * square, slope = 2 * k1 + 4 * k2 * square;
    for (int i = 0; i < 2; i++) {
      double *row = values + (2 * observation + i) * WIDTH, by_seen[3] = {0, 0, 0};
      for (int j = 0; j < 2; j++) {
        const double by_image = slope * image[i] * image[j] + (i == j) * stretch;
        by_seen[j] += by_image / x[2];
        by_seen[2] -= by_image * image[j] / x[2];
      }
      for (int j = 0; j < 3; j++) {
        double turned = 0, moved = 0;
        for (int l = 0; l < 3; l++) turned += by_seen[l] * by_r[3 * l + j], moved += by_seen[l] * by_x[3 * l + j];
        row[j] = weight * focal * turned;
        row[3 + j] = -weight * focal * moved;
        row[CAMERA + j] = weight * focal * moved;
        if (j < 2) row[7 + j] = weight * (i == j);
      }
      row[6] = weight * image[i] * stretch;
      row[9] = weight * focal * square * image[i];
      row[10] = weight * focal * square * square * image[i];
      row[14] = image[i] * stretch * focal + camera[7 + i] - feature[i];
    }
    values[2 * WIDTH * count + observation] = -2 * weight;
  }
}

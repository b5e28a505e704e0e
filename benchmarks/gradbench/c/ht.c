// ht: the Jacobian by hand. Derivatives are taken at the vertices that correspond to points only.

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

typedef double Matrix[4][4];

static void multiply(Matrix a, Matrix b, Matrix out) {
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++) {
      out[i][j] = 0;
      for (int l = 0; l < 4; l++) out[i][j] += a[i][l] * b[l][j];
    }
}

// A rotation about one axis, or its derivative by the angle.
static void turn(int axis, double angle, int is_derivative, Matrix out) {
  const int i = (axis + 1) % 3, j = (axis + 2) % 3;
  memset(out, 0, sizeof(Matrix));
  if (!is_derivative) out[axis][axis] = out[3][3] = 1;
  out[i][i] = out[j][j] = is_derivative ? -sin(angle) : cos(angle);
  out[j][i] = is_derivative ? cos(angle) : sin(angle);
  out[i][j] = -out[j][i];
}

// Rz Ry Rx of a bone (3 angles, in the order x, z, y), or its derivative by the x (0) or z (1) angle.
static void euler(const double *angles, int derivative, Matrix out) {
  Matrix x, y, z, zy;
  turn(0, angles[0], derivative == 0, x);
  turn(1, angles[2], 0, y);
  turn(2, angles[1], derivative == 1, z);
  multiply(z, y, zy);
  multiply(zy, x, out);
}

// The rotation about an axis by its length (3 * 3), and its derivatives by each element (3 * 3 * 3).
static void about_axis(const double *v, double r[3][3], double by[3][3][3]) {
  const double angle = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]), s = sin(angle), c = cos(angle);
  const double w[3] = {v[0] / angle, v[1] / angle, v[2] / angle};
  for (int p = -1; p < 3; p++) {
    double dw[3] = {0, 0, 0}, ds = 0, dc = 0;
    if (p >= 0) {
      ds = c * w[p], dc = -s * w[p];
      for (int i = 0; i < 3; i++) dw[i] = ((i == p) - w[i] * w[p]) / angle;
    }
    for (int i = 0; i < 3; i++)
      for (int j = 0; j < 3; j++) {
        const int l = 3 - i - j;
        const double sign = i == j ? 0 : (j - i + 3) % 3 == 1 ? -1 : 1;
        if (p < 0)
          r[i][j] = w[i] * w[j] * (1 - c) + (i == j) * c + (i == j ? 0 : sign * w[l] * s);
        else
          by[p][i][j] = (dw[i] * w[j] + w[i] * dw[j]) * (1 - c) - w[i] * w[j] * dc + (i == j) * dc +
                        (i == j ? 0 : sign * (dw[l] * s + w[l] * ds));
      }
  }
}

// The place of a vertex on the skin, moved by the transforms of bones first to last.
static void skin(const double *base, const double *weights, Matrix *transforms, int first, int last, double mirror,
                 double *out) {
  out[0] = out[1] = out[2] = 0;
  for (int bone = first; bone < last; bone++)
    for (int i = 0; i < 3; i++) {
      double moved = 0;
      for (int l = 0; l < 4; l++) moved += transforms[bone][i][l] * base[l];
      out[i] += weights[bone] * moved;
    }
  out[0] *= mirror;
}

// jacobian: 3 n * columns, where columns is 26, or 28 with places in triangles (us not NULL)
void ht_jacobian(size_t n, size_t vertices, size_t bones, const double *theta, const double *us,
                 const double *relatives, const double *inverses, const double *base, const double *weights,
                 const ptrdiff_t *parents, const ptrdiff_t *triangles, const ptrdiff_t *correspondences,
                 int is_mirrored, double *jacobian) {
  const int extra = us ? 2 : 0, columns = 26 + extra, corners = us ? 3 : 1;
  const double mirror = is_mirrored ? -1 : 1;
  Matrix *absolutes = malloc(bones * sizeof(Matrix)), *transforms = malloc(bones * sizeof(Matrix));
  Matrix *moving = malloc(bones * sizeof(Matrix));
  double(*angles)[3] = calloc(bones, sizeof *angles), rotation[3][3], by_axis[3][3][3];
  double(*places)[3] = malloc(vertices * sizeof *places), *changes = malloc(n * corners * 20 * 3 * sizeof *changes);
  for (int finger = 0; finger < 5; finger++) {
    const double *given = theta + 6 + 4 * finger;
    const int first = 2 + 4 * finger;
    angles[first][0] = given[0], angles[first][1] = given[1];
    angles[first + 1][0] = given[2], angles[first + 2][0] = given[3];
  }
  for (size_t bone = 0; bone < bones; bone++) {
    Matrix turned, relative;
    euler(angles[bone], -1, turned);
    multiply(((Matrix *)relatives)[bone], turned, relative);
    if (parents[bone] < 0)
      memcpy(absolutes[bone], relative, sizeof relative);
    else
      multiply(absolutes[parents[bone]], relative, absolutes[bone]);
    multiply(absolutes[bone], ((Matrix *)inverses)[bone], transforms[bone]);
  }
  for (size_t v = 0; v < vertices; v++) skin(base + 4 * v, weights + bones * v, transforms, 0, bones, mirror, places[v]);

  for (int parameter = 0; parameter < 20; parameter++) {
    const int at = parameter % 4, bone = 2 + 4 * (parameter / 4) + (at > 1 ? at - 1 : 0);
    const int last = 5 + 4 * (parameter / 4);
    Matrix turned, relative, changed;
    euler(angles[bone], at == 1, turned);
    multiply(((Matrix *)relatives)[bone], turned, relative);
    multiply(absolutes[parents[bone]], relative, changed);
    multiply(changed, ((Matrix *)inverses)[bone], moving[bone]);
    for (int child = bone + 1; child < last; child++) {
      Matrix next;
      euler(angles[child], -1, turned);
      multiply(((Matrix *)relatives)[child], turned, relative);
      multiply(changed, relative, next);
      memcpy(changed, next, sizeof next);
      multiply(changed, ((Matrix *)inverses)[child], moving[child]);
    }
    for (size_t i = 0; i < n; i++)
      for (int corner = 0; corner < corners; corner++) {
        const ptrdiff_t v = us ? triangles[3 * correspondences[i] + corner] : correspondences[i];
        skin(base + 4 * v, weights + bones * v, moving, bone, last, mirror,
             changes + ((i * corners + corner) * 20 + parameter) * 3);
      }
  }

  about_axis(theta, rotation, by_axis);
  for (size_t i = 0; i < n; i++) {
    const double share[3] = {us ? us[2 * i] : 1, us ? us[2 * i + 1] : 0, us ? 1 - us[2 * i] - us[2 * i + 1] : 0};
    double place[3] = {0, 0, 0}, shift[2][3], change[20][3];
    const ptrdiff_t *corner_of = us ? triangles + 3 * correspondences[i] : correspondences + i;
    memset(change, 0, sizeof change);
    for (int corner = 0; corner < corners; corner++) {
      const double *moved = changes + (i * corners + corner) * 20 * 3;
      for (int j = 0; j < 3; j++) {
        place[j] += share[corner] * places[corner_of[corner]][j];
        for (int p = 0; p < 20; p++) change[p][j] += share[corner] * moved[3 * p + j];
        if (us && corner < 2) shift[corner][j] = places[corner_of[corner]][j] - places[corner_of[2]][j];
      }
    }
    for (int j = 0; j < 3; j++) {
      double *row = jacobian + (3 * i + j) * columns;
      for (int c = 0; c < columns; c++) row[c] = 0;
      row[extra + 3 + j] = -1;
      for (int l = 0; l < 3; l++) {
        for (int c = 0; c < extra; c++) row[c] -= rotation[j][l] * shift[c][l];
        for (int p = 0; p < 3; p++) row[extra + p] -= by_axis[p][j][l] * place[l];
        for (int p = 0; p < 20; p++) row[extra + 6 + p] -= rotation[j][l] * change[p][l];
      }
    }
  }
  free(absolutes), free(transforms), free(moving), free(angles), free(places), free(changes);
}

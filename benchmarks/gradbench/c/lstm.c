// lstm: backpropagation through time by hand.

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

// What is kept of a cell in a step.
enum { FORGET, INGATE, OUTGATE, CHANGE, BENT, INPUT, HIDDEN, CELL, KEPT };

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }

// main: 2 layers * 4 bits, extra: 3 * bits, start: 2 layers * bits, sequence: steps * bits
void lstm_gradient(size_t layers, size_t steps, size_t bits, const double *restrict main,
                   const double *restrict extra, const double *restrict start, const double *restrict sequence,
                   double *restrict d_main, double *restrict d_extra) {
  const size_t row = 4 * bits, cells = layers * bits, count = steps - 1;
  double *state = malloc(2 * cells * sizeof *state), *d_state = calloc(2 * cells, sizeof *d_state);
  double *kept = malloc(count * cells * KEPT * sizeof *kept), *x = malloc(bits * sizeof *x);
  double *powers = malloc(count * bits * sizeof *powers), *d_x = malloc(bits * sizeof *d_x);
  memcpy(state, start, 2 * cells * sizeof *state);
  memset(d_main, 0, 2 * layers * row * sizeof *d_main);
  memset(d_extra, 0, 3 * bits * sizeof *d_extra);

  for (size_t t = 0; t < count; t++) {
    for (size_t i = 0; i < bits; i++) x[i] = sequence[t * bits + i] * extra[i];
    for (size_t layer = 0; layer < layers; layer++) {
      const double *w = main + 2 * layer * row, *b = w + row;
      double *hidden = state + 2 * layer * bits, *cell = hidden + bits;
      for (size_t i = 0; i < bits; i++) {
        double *keep = kept + ((t * layers + layer) * bits + i) * KEPT;
        keep[INPUT] = x[i], keep[HIDDEN] = hidden[i], keep[CELL] = cell[i];
        keep[FORGET] = sigmoid(x[i] * w[i] + b[i]);
        keep[INGATE] = sigmoid(hidden[i] * w[bits + i] + b[bits + i]);
        keep[OUTGATE] = sigmoid(x[i] * w[2 * bits + i] + b[2 * bits + i]);
        keep[CHANGE] = tanh(hidden[i] * w[3 * bits + i] + b[3 * bits + i]);
        cell[i] = cell[i] * keep[FORGET] + keep[INGATE] * keep[CHANGE];
        keep[BENT] = tanh(cell[i]);
        x[i] = hidden[i] = keep[OUTGATE] * keep[BENT];
      }
    }
    double sum = 2;
    for (size_t i = 0; i < bits; i++) sum += powers[t * bits + i] = exp(x[i] * extra[bits + i] + extra[2 * bits + i]);
    for (size_t i = 0; i < bits; i++) powers[t * bits + i] /= sum;
  }

  for (size_t t = count; t-- > 0;) {
    const double *gold = sequence + (t + 1) * bits, *last = kept + (t * layers + layers - 1) * bits * KEPT;
    double total = 0;
    for (size_t i = 0; i < bits; i++) total += gold[i];
    for (size_t i = 0; i < bits; i++) {
      const double d_y = (total * powers[t * bits + i] - gold[i]) / (count * bits);
      d_extra[bits + i] += d_y * last[i * KEPT + OUTGATE] * last[i * KEPT + BENT];
      d_extra[2 * bits + i] += d_y;
      d_x[i] = d_y * extra[bits + i];
    }
    for (size_t layer = layers; layer-- > 0;) {
      const double *w = main + 2 * layer * row;
      double *d_w = d_main + 2 * layer * row, *d_b = d_w + row;
      double *d_hidden = d_state + 2 * layer * bits, *d_cell = d_hidden + bits;
      for (size_t i = 0; i < bits; i++) {
        const double *keep = kept + ((t * layers + layer) * bits + i) * KEPT;
        const double f = keep[FORGET], in = keep[INGATE], o = keep[OUTGATE], c = keep[CHANGE], bent = keep[BENT];
        const double d_out = d_x[i] + d_hidden[i], d_new = d_cell[i] + d_out * o * (1 - bent * bent);
        const double d_gate[4] = {d_new * keep[CELL] * f * (1 - f), d_new * c * in * (1 - in),
                                  d_out * bent * o * (1 - o), d_new * in * (1 - c * c)};
        for (size_t gate = 0; gate < 4; gate++) {
          d_w[gate * bits + i] += d_gate[gate] * keep[gate % 2 ? HIDDEN : INPUT];
          d_b[gate * bits + i] += d_gate[gate];
        }
        d_x[i] = d_gate[0] * w[i] + d_gate[2] * w[2 * bits + i];
        d_hidden[i] = d_gate[1] * w[bits + i] + d_gate[3] * w[3 * bits + i];
        d_cell[i] = d_new * f;
      }
    }
    for (size_t i = 0; i < bits; i++) d_extra[i] += d_x[i] * sequence[t * bits + i];
  }
  free(state), free(d_state), free(kept), free(x), free(powers), free(d_x);
}

/* The part of HTTP/1.1 that both ends of the benchmark need: headers, and where a body ends. */
#ifndef BENCH_HTTP_H
#define BENCH_HTTP_H

#define _GNU_SOURCE
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

enum body_state {
  BODY_LENGTH,
  BODY_CHUNK_SIZE,
  BODY_CHUNK_DATA,
  BODY_CHUNK_END,
  BODY_TRAILER,
  BODY_UNTIL_CLOSE,
  BODY_DONE
};

struct body {
  enum body_state state;
  uint64_t left;      /* bytes still to come of the body or of the chunk */
  size_t line_length; /* of the trailer line being read: an empty one ends the message */
  bool size_ended;    /* the digits of a chunk size are over, an extension may follow */
};

static inline uint64_t now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* The value of a header, or NULL. `name` is lower case and ends in a colon. */
static inline const char *header(const char *head, size_t length, const char *name) {
  size_t name_length = strlen(name);
  const char *end = head + length;
  const char *line = memchr(head, '\n', length);
  while (line != NULL && ++line + name_length < end) {
    if (strncasecmp(line, name, name_length) == 0) {
      const char *value = line + name_length;
      while (value < end && *value == ' ') value++;
      return value;
    }
    line = memchr(line, '\n', (size_t)(end - line));
  }
  return NULL;
}

/* What the head says about its body. `otherwise` is the state when it says nothing. */
static inline struct body body_of(const char *head, size_t length, enum body_state otherwise) {
  struct body body = {.state = otherwise};
  const char *value = header(head, length, "content-length:");
  if (value != NULL) {
    body.left = strtoull(value, NULL, 10);
    body.state = body.left == 0 ? BODY_DONE : BODY_LENGTH;
  }
  value = header(head, length, "transfer-encoding:");
  if (value != NULL && strncasecmp(value, "chunked", 7) == 0) body.state = BODY_CHUNK_SIZE;
  return body;
}

static inline int hex_digit(char byte) {
  if (byte >= '0' && byte <= '9') return byte - '0';
  if (byte >= 'a' && byte <= 'f') return byte - 'a' + 10;
  if (byte >= 'A' && byte <= 'F') return byte - 'A' + 10;
  return -1;
}

static inline void body_size_byte(struct body *body, char byte) {
  int digit = hex_digit(byte);
  if (byte == '\n') {
    body->state = body->left == 0 ? BODY_TRAILER : BODY_CHUNK_DATA;
    body->line_length = 0;
    body->size_ended = false;
  } else if (digit < 0) {
    body->size_ended = true;
  } else if (!body->size_ended) {
    body->left = body->left * 16 + (uint64_t)digit;
  }
}

static inline void body_trailer_byte(struct body *body, char byte) {
  if (byte == '\r') return;
  if (byte != '\n') body->line_length++;
  else if (body->line_length == 0) body->state = BODY_DONE;
  else body->line_length = 0;
}

/* Reads on and returns how many bytes it took. When `payload` is not NULL afterwards, it points at
   `payload_length` bytes of content. Call it until the state is BODY_DONE or the bytes are used. */
static inline size_t body_read(struct body *body, const char *data, size_t length,
                               const char **payload, size_t *payload_length) {
  size_t taken = 0;
  *payload = NULL;
  *payload_length = 0;
  while (taken < length && body->state != BODY_DONE) {
    switch (body->state) {
      case BODY_CHUNK_SIZE: body_size_byte(body, data[taken++]); continue;
      case BODY_TRAILER: body_trailer_byte(body, data[taken++]); continue;
      case BODY_CHUNK_END:
        if (data[taken++] == '\n') body->state = BODY_CHUNK_SIZE;
        continue;
      default: break;
    }
    *payload = data + taken;
    *payload_length = length - taken;
    if (body->state == BODY_UNTIL_CLOSE) return length;
    if (*payload_length > body->left) *payload_length = (size_t)body->left;
    body->left -= *payload_length;
    if (body->left == 0) body->state = body->state == BODY_LENGTH ? BODY_DONE : BODY_CHUNK_END;
    return taken + *payload_length;
  }
  return taken;
}

#endif

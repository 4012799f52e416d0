/*
 * A model server with the lowest possible cost: one thread, epoll, prepared answers. It implements just enough of
 * OpenAI's chat completions and embeddings, and of Anthropic's messages, for a gateway.
 */
#include "http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define REQUEST_BYTES_MAX (16u << 20)
#define EVENTS_PER_WAKE_MAX 512
#define COMPLETION_CONTENT_BYTES 600
#define VECTOR_BYTES 8192 /* 1,536 numbers in base64 */

struct text {
  char *bytes;
  size_t length;
};

struct stream {
  struct text first, event, last;
};

struct connection {
  int fd;
  const struct stream *stream; /* NULL while none is being written */
  int events_left;
  uint64_t due; /* when the next event of the stream is to be written */
  struct connection *previous, *next; /* neighbours in the queue of due streams */
  char *data;
  size_t used, capacity;
  const char *unsent; /* the rest of an answer that the socket did not accept */
  size_t unsent_length;
};

static struct text completion, embedding, message, health, models, not_found;
/* Index 0 is for streams without usage, 1 for those that asked for it. */
static struct stream completion_stream[2], message_stream;

static int epoll_fd, timer_fd, events_per_stream = 100;
static uint64_t interval_ns;
static bool idle;
static struct connection *first_due, *last_due;

static void fail(const char *what) {
  perror(what);
  exit(1);
}

static struct text format(const char *pattern, const char *first, const char *second) {
  struct text text;
  int length = asprintf(&text.bytes, pattern, first, second);
  if (length < 0) fail("asprintf");
  text.length = (size_t)length;
  return text;
}

static struct text answer(const char *status, const char *body) {
  char length[32];
  snprintf(length, sizeof length, "%zu", strlen(body));
  struct text head = format("HTTP/1.1 %s\r\nContent-Type: application/json\r\n"
                            "Content-Length: %s\r\n\r\n", status, length);
  return format("%s%s", head.bytes, body);
}

static struct text framed(const char *event) {
  char size[32];
  snprintf(size, sizeof size, "%zx", strlen(event));
  return format("%s\r\n%s\r\n", size, event);
}

static struct text chunk(const char *choices, const char *usage) {
  struct text data = format(
      "data: {\"id\":\"chatcmpl-bench\",\"object\":\"chat.completion.chunk\","
      "\"created\":1700000000,\"model\":\"bench-model\",\"choices\":[%s]%s}\n\n", choices, usage);
  return framed(data.bytes);
}

static const char stream_head[] =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n"
    "Cache-Control: no-cache\r\nTransfer-Encoding: chunked\r\n\r\n";

static void prepare_stream(int usage) {
  struct stream *stream = &completion_stream[usage];
  const char *null_usage = usage ? ",\"usage\":null" : "";
  stream->event = chunk(
      "{\"index\":0,\"delta\":{\"content\":\" token\"},\"logprobs\":null,\"finish_reason\":null}",
      null_usage);
  stream->first = format("%s%s", stream_head, stream->event.bytes);
  struct text finish = chunk(
      "{\"index\":0,\"delta\":{},\"logprobs\":null,\"finish_reason\":\"stop\"}", null_usage);
  struct text counted = chunk(
      "", ",\"usage\":{\"prompt_tokens\":200,\"completion_tokens\":100,\"total_tokens\":300}");
  struct text done = format("%s0\r\n\r\n%s", framed("data: [DONE]\n\n").bytes, "");
  struct text end = format("%s%s", usage ? counted.bytes : "", done.bytes);
  stream->last = format("%s%s", finish.bytes, end.bytes);
}

static struct text named(const char *event, const char *members) {
  struct text start = format("event: %s\ndata: {\"type\":\"%s\"", event, event);
  return framed(format("%s%s}\n\n", start.bytes, members).bytes);
}

static void prepare_message_stream(void) {
  static const char block[] = ",\"index\":0";
  struct text start = named("message_start",
      ",\"message\":{\"id\":\"msg_bench\",\"type\":\"message\",\"role\":\"assistant\","
      "\"model\":\"bench-model\",\"content\":[],\"stop_reason\":null,\"stop_sequence\":null,"
      "\"usage\":{\"input_tokens\":200,\"output_tokens\":1}}");
  struct text open = named("content_block_start",
      ",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}");
  message_stream.event = named("content_block_delta",
      ",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\" token\"}");
  struct text head = format("%s%s", stream_head, start.bytes);
  struct text first = format("%s%s", open.bytes, message_stream.event.bytes);
  message_stream.first = format("%s%s", head.bytes, first.bytes);
  struct text delta = named("message_delta",
      ",\"delta\":{\"stop_reason\":\"end_turn\",\"stop_sequence\":null},"
      "\"usage\":{\"input_tokens\":200,\"output_tokens\":100}");
  struct text close = format("%s%s", named("content_block_stop", block).bytes, delta.bytes);
  struct text end = format("%s0\r\n\r\n%s", named("message_stop", "").bytes, "");
  message_stream.last = format("%s%s", close.bytes, end.bytes);
}

static void prepare_others(const char *content) {
  char vector[VECTOR_BYTES + 1];
  for (size_t i = 0; i < VECTOR_BYTES; i++) vector[i] = "AACAPwAA"[i % 8]; /* 1.0, 0.0 and so on */
  vector[VECTOR_BYTES] = 0;
  embedding = answer("200 OK", format(
      "{\"object\":\"list\",\"model\":\"bench-model\",\"data\":[{\"object\":\"embedding\","
      "\"index\":0,\"embedding\":\"%s\"}],"
      "\"usage\":{\"prompt_tokens\":200,\"total_tokens\":200}}%s", vector, "").bytes);
  message = answer("200 OK", format(
      "{\"id\":\"msg_bench\",\"type\":\"message\",\"role\":\"assistant\","
      "\"model\":\"bench-model\",\"content\":[{\"type\":\"text\",\"text\":\"%s\"}],"
      "\"stop_reason\":\"end_turn\",\"stop_sequence\":null,"
      "\"usage\":{\"input_tokens\":200,\"output_tokens\":100}}%s", content, "").bytes);
}

static void prepare_answers(void) {
  char content[COMPLETION_CONTENT_BYTES + 1];
  for (size_t i = 0; i < COMPLETION_CONTENT_BYTES; i++) content[i] = "a token "[i % 8];
  content[COMPLETION_CONTENT_BYTES] = 0;
  struct text body = format(
      "{\"id\":\"chatcmpl-bench\",\"object\":\"chat.completion\",\"created\":1700000000,"
      "\"model\":\"bench-model\",\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\","
      "\"content\":\"%s\",\"refusal\":null},\"logprobs\":null,\"finish_reason\":\"stop\"}],"
      "\"usage\":{\"prompt_tokens\":200,\"completion_tokens\":100,\"total_tokens\":300,"
      "\"prompt_tokens_details\":{\"cached_tokens\":0}},\"system_fingerprint\":\"bench\"}%s",
      content, "");
  completion = answer("200 OK", body.bytes);
  prepare_others(content);
  health = answer("200 OK", "{\"status\":\"ok\"}");
  /* Some routers ask a model server which models it serves, and forward no other requests. */
  models = answer("200 OK", "{\"object\":\"list\",\"data\":[{\"id\":\"bench\",\"object\":\"model\"},"
                            "{\"id\":\"bench-model\",\"object\":\"model\"}]}");
  not_found = answer("404 Not Found", "{\"error\":{\"message\":\"no such path\"}}");
  prepare_stream(0);
  prepare_stream(1);
  prepare_message_stream();
}

static void watch_for(struct connection *connection, uint32_t events) {
  struct epoll_event event = {.events = events, .data.ptr = connection};
  if (epoll_ctl(epoll_fd, EPOLL_CTL_MOD, connection->fd, &event) < 0) fail("epoll_ctl");
}

static void leave_queue(struct connection *connection) {
  if (connection->previous != NULL) connection->previous->next = connection->next;
  else if (first_due == connection) first_due = connection->next;
  if (connection->next != NULL) connection->next->previous = connection->previous;
  else if (last_due == connection) last_due = connection->previous;
  connection->previous = connection->next = NULL;
}

/* All intervals are equal, so the place is nearly always at the end. */
static void enter_queue(struct connection *connection) {
  struct connection *before = last_due;
  while (before != NULL && before->due > connection->due) before = before->previous;
  connection->previous = before;
  connection->next = before == NULL ? first_due : before->next;
  if (connection->next != NULL) connection->next->previous = connection;
  else last_due = connection;
  if (before != NULL) before->next = connection;
  else first_due = connection;
}

static void drop(struct connection *connection) {
  leave_queue(connection);
  close(connection->fd);
  free(connection->data);
  free(connection);
}

/* False if the connection is gone and has been dropped. */
static bool send_bytes(struct connection *connection, const char *bytes, size_t length) {
  ssize_t sent = write(connection->fd, bytes, length);
  if (sent < 0 && errno != EAGAIN) {
    drop(connection);
    return false;
  }
  size_t taken = sent < 0 ? 0 : (size_t)sent;
  bool was_blocked = connection->unsent_length > 0;
  connection->unsent = bytes + taken;
  connection->unsent_length = length - taken;
  if (connection->unsent_length > 0 && !was_blocked) watch_for(connection, EPOLLIN | EPOLLOUT);
  if (connection->unsent_length == 0 && was_blocked) watch_for(connection, EPOLLIN);
  return true;
}

static bool send_text(struct connection *connection, struct text text) {
  return send_bytes(connection, text.bytes, text.length);
}

/* Whether the JSON has the member with the value true, spaces or none around the colon. */
static bool is_true(const char *json, size_t length, const char *member) {
  const char *end = json + length;
  const char *at = memmem(json, length, member, strlen(member));
  if (at == NULL) return false;
  at += strlen(member);
  while (at < end && (*at == ' ' || *at == ':')) at++;
  return end - at >= 4 && memcmp(at, "true", 4) == 0;
}

/*
 * Streams that start together would write together, and a proxy would read many events in one wake. Real ones are
 * spread, so the second event comes after a part of the interval.
 */
static uint64_t first_delay_ns(const struct connection *connection) {
  return interval_ns * (((uint32_t)connection->fd * 2654435769u) >> 24) / 256;
}

static bool start_stream(struct connection *connection, const struct stream *stream) {
  connection->stream = stream;
  connection->events_left = events_per_stream - 1;
  connection->due = now_ns() + first_delay_ns(connection);
  if (!idle) enter_queue(connection);
  return send_text(connection, stream->first);
}

static bool starts(const char *head, const char *text) {
  return memcmp(head, text, strlen(text)) == 0;
}

static bool respond(struct connection *connection, const char *head, const char *body,
                    size_t body_length) {
  bool streams = is_true(body, body_length, "\"stream\"");
  if (starts(head, "GET /health")) return send_text(connection, health);
  if (starts(head, "GET /v1/models")) return send_text(connection, models);
  if (starts(head, "POST /v1/embeddings")) return send_text(connection, embedding);
  if (starts(head, "POST /v1/messages"))
    return streams ? start_stream(connection, &message_stream) : send_text(connection, message);
  if (!starts(head, "POST /v1/chat/completions")) return send_text(connection, not_found);
  if (!streams) return send_text(connection, completion);
  bool usage = is_true(body, body_length, "\"include_usage\"");
  return start_stream(connection, &completion_stream[usage]);
}

/*
 * The length of the whole message at the start of `data`, 0 while it is incomplete. The content of a chunked body is
 * moved together, so that it can be searched.
 */
static size_t message_length(char *data, size_t used, size_t head_length, size_t *body_length) {
  struct body body = body_of(data, head_length, BODY_DONE);
  struct body again = body;
  const char *payload;
  size_t payload_length, at = head_length, end;
  if (body.state == BODY_LENGTH && body.left > used - head_length) return 0;
  while (at < used && body.state != BODY_DONE)
    at += body_read(&body, data + at, used - at, &payload, &payload_length);
  if (body.state != BODY_DONE) return 0;
  end = at;
  at = head_length;
  *body_length = 0;
  while (again.state != BODY_DONE) {
    at += body_read(&again, data + at, end - at, &payload, &payload_length);
    if (payload == NULL) continue;
    memmove(data + head_length + *body_length, payload, payload_length);
    *body_length += payload_length;
  }
  return end;
}

/* Answers the requests read so far, one after the other. */
static void serve(struct connection *connection) {
  while (connection->stream == NULL && connection->unsent_length == 0 && connection->used > 16) {
    char *data = connection->data;
    char *end = memmem(data, connection->used, "\r\n\r\n", 4);
    if (end == NULL) return;
    size_t head_length = (size_t)(end - data) + 4, body_length;
    size_t length = message_length(data, connection->used, head_length, &body_length);
    if (length == 0) return;
    if (!respond(connection, data, data + head_length, body_length)) return;
    connection->used -= length;
    if (connection->used > 0) memmove(data, data + length, connection->used);
  }
}

static void receive(struct connection *connection) {
  if (connection->used == connection->capacity) {
    connection->capacity *= 2;
    connection->data = realloc(connection->data, connection->capacity);
    if (connection->data == NULL || connection->capacity > REQUEST_BYTES_MAX) fail("request");
  }
  ssize_t length = read(connection->fd, connection->data + connection->used,
                        connection->capacity - connection->used);
  if (length < 0 && errno == EAGAIN) return;
  if (length <= 0) {
    drop(connection);
    return;
  }
  connection->used += (size_t)length;
  serve(connection);
}

static void accept_all(int listener) {
  for (;;) {
    int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
    if (fd < 0) return;
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    struct connection *connection = calloc(1, sizeof *connection);
    connection->fd = fd;
    connection->capacity = 4096;
    connection->data = malloc(connection->capacity);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
    if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0) fail("epoll_ctl");
  }
}

static void write_event(struct connection *connection) {
  leave_queue(connection);
  connection->due += interval_ns;
  if (connection->unsent_length > 0) {
    enter_queue(connection);
    return;
  }
  if (connection->events_left-- > 0) {
    enter_queue(connection);
    send_text(connection, connection->stream->event);
    return;
  }
  struct text last = connection->stream->last;
  connection->stream = NULL;
  if (send_text(connection, last)) serve(connection);
}

/*
 * One event for each stream that is due. The bound matters if the interval is 0: those streams are due at once again,
 * and reading must have its turn.
 */
static void write_due_events(void) {
  uint64_t now = now_ns();
  struct connection *last = last_due;
  while (first_due != NULL && first_due->due <= now) {
    bool was_last = first_due == last;
    if (interval_ns == 0) first_due->due = now;
    write_event(first_due);
    if (was_last) return;
  }
}

static void set_timer(void) {
  static uint64_t set_for;
  if (first_due == NULL || interval_ns == 0 || first_due->due == set_for) return;
  set_for = first_due->due;
  struct itimerspec when = {.it_value = {.tv_sec = (time_t)(set_for / 1000000000u),
                                         .tv_nsec = (long)(set_for % 1000000000u)}};
  if (timerfd_settime(timer_fd, TFD_TIMER_ABSTIME, &when, NULL) < 0) fail("timerfd_settime");
}

static int listen_on(int port) {
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), on = 1;
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(fd, (struct sockaddr *)&address, sizeof address) < 0) fail("bind");
  if (listen(fd, 4096) < 0) fail("listen");
  return fd;
}

static void run(int listener) {
  static struct epoll_event events[EVENTS_PER_WAKE_MAX];
  for (;;) {
    set_timer();
    int timeout = first_due != NULL && interval_ns == 0 ? 0 : -1;
    int count = epoll_wait(epoll_fd, events, EVENTS_PER_WAKE_MAX, timeout);
    for (int i = 0; i < count; i++) {
      struct connection *connection = events[i].data.ptr;
      uint64_t expirations;
      if (events[i].data.ptr == &epoll_fd) accept_all(listener);
      else if (events[i].data.ptr == &timer_fd) (void)!read(timer_fd, &expirations, 8);
      else if (!(events[i].events & EPOLLOUT)) receive(connection);
      else if (send_bytes(connection, connection->unsent, connection->unsent_length))
        serve(connection);
    }
    write_due_events();
  }
}

int main(int count, char **arguments) {
  if (count < 2) {
    fprintf(stderr, "usage: upstream PORT [EVENTS_PER_STREAM] [INTERVAL_MS] [idle]\n");
    return 64;
  }
  if (count > 2) events_per_stream = atoi(arguments[2]);
  if (count > 3) interval_ns = (uint64_t)(atof(arguments[3]) * 1e6);
  idle = count > 4 && strcmp(arguments[4], "idle") == 0;
  signal(SIGPIPE, SIG_IGN);
  prepare_answers();
  epoll_fd = epoll_create1(0);
  timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
  int listener = listen_on(atoi(arguments[1]));
  struct epoll_event on_accept = {.events = EPOLLIN, .data.ptr = &epoll_fd};
  struct epoll_event on_timer = {.events = EPOLLIN, .data.ptr = &timer_fd};
  epoll_ctl(epoll_fd, EPOLL_CTL_ADD, listener, &on_accept);
  epoll_ctl(epoll_fd, EPOLL_CTL_ADD, timer_fd, &on_timer);
  run(listener);
}

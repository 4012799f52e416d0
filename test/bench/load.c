/*
 * A cheap load generator: one thread, epoll, prepared requests. It prints one line of JSON. `begin` and
 * `finish_request` distinguish the modes; see README.md.
 */
#include "http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define SECOND_NS 1000000000u
#define EVENTS_PER_WAKE_MAX 512
#define HEAD_BYTES_MAX 8192
#define OPENING_MAX 100 /* below the usual backlog of 511, so that no connect waits */
#define ERRORS_MAX 10000
#define DRAIN_SECONDS_MAX 2
#define OPEN_SECONDS_MAX 60
#define PORTS_MAX 16
#define KEYS_MAX 100000

struct request {
  char *bytes;
  size_t length;
};

struct connection {
  int fd;
  bool busy;
  bool in_body;
  bool ok;         /* the status of the answer being read is 2xx */
  bool last;       /* the server said that it closes after this answer */
  bool seen_event; /* the first event of the stream being read has come */
  int matched;     /* bytes of "data:" seen at the start of the line, -1 inside a line */
  bool blocked; /* the socket did not accept the whole request yet */
  size_t sent;
  const struct request *request;
  uint64_t began_ns; /* when the request was sent, or should have been in an open loop */
  struct body body;
  size_t head_used;
  char head[HEAD_BYTES_MAX];
};

/* Buckets of 1/128 of a power of two: a percentile is exact to 0.8 %. */
struct histogram {
  uint64_t counts[64 * 128], total, max_ns;
};

static struct {
  int ports[PORTS_MAX], port_count, connections, body_bytes, stream, hold, usage, input;
  uint64_t requests; /* the run ends after this many answers; 0: only after its time */
  double seconds, rate;
  const char *key, *keys, *model, *path, *headers, *log;
} options = {.connections = 64, .seconds = 5, .body_bytes = 1024, .key = "bench", .model = "bench",
             .path = "/v1/chat/completions", .headers = ""};

static struct {
  uint64_t requests, events, non_2xx, errors, reconnects, unfinished;
} counts;

static struct histogram whole, first_event;
static struct connection *connections, **free_connections;
static int epoll_fd, timer_fd, free_count, started_count, opening_count, open_count;
static uint64_t start_ns, scheduled_count, issued_count;
static struct request *requests; /* one for each key */
static double *weights;          /* of each key the sum of its weight and of those before it */
static size_t key_count;
static volatile sig_atomic_t stopped;
static FILE *request_log; /* a line for each request: when it was due and when it was answered */

static void begin(struct connection *connection, uint64_t began_ns);

static void fail(const char *what) {
  perror(what);
  exit(1);
}

static void stop(int signal_number) {
  (void)signal_number;
  stopped = 1;
}

static void record(struct histogram *histogram, uint64_t ns) {
  int shift = ns < 256 ? 0 : 56 - __builtin_clzll(ns);
  histogram->counts[((size_t)shift << 7) + (ns >> shift)]++;
  histogram->total++;
  if (ns > histogram->max_ns) histogram->max_ns = ns;
}

static double percentile_us(const struct histogram *histogram, double share) {
  uint64_t wanted = (uint64_t)((double)histogram->total * share), seen = 0;
  for (size_t i = 0; i < sizeof histogram->counts / sizeof *histogram->counts; i++) {
    seen += histogram->counts[i];
    if (seen <= wanted || histogram->counts[i] == 0) continue;
    size_t shift = i < 256 ? 0 : (i >> 7) - 1;
    return (double)((i - (shift << 7)) << shift) / 1000;
  }
  return (double)histogram->max_ns / 1000;
}

static struct request prepared_request(const char *key) {
  char *start, *padding, *body, *request;
  const char *before = "\"max_tokens\":100,\"messages\":[{\"role\":\"user\",\"content\":\"";
  const char *behind = "\"}]}";
  if (options.input) {
    before = "\"encoding_format\":\"base64\",\"input\":[\"";
    behind = "\"]}";
  }
  if (asprintf(&start, "{\"model\":\"%s\",%s%s%s", options.model,
               options.stream ? "\"stream\":true," : "",
               options.usage ? "\"stream_options\":{\"include_usage\":true}," : "", before) < 0)
    fail("asprintf");
  size_t used = strlen(start) + strlen(behind);
  size_t missing = (size_t)options.body_bytes > used ? (size_t)options.body_bytes - used : 0;
  padding = calloc(1, missing + 1);
  for (size_t i = 0; i < missing; i++) padding[i] = "seven letters "[i % 14];
  if (asprintf(&body, "%s%s%s", start, padding, behind) < 0) fail("asprintf");
  int length = asprintf(&request,
                        "POST %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nAuthorization: Bearer %s\r\n"
                        "Content-Type: application/json\r\nAccept: */*\r\nUser-Agent: bench\r\n"
                        "%s%sContent-Length: %zu\r\n\r\n%s",
                        options.path, options.ports[0], key, options.headers,
                        *options.headers ? "\r\n" : "", strlen(body), body);
  if (length < 0) fail("asprintf");
  free(start);
  free(padding);
  free(body);
  return (struct request){request, (size_t)length};
}

/* The first key is used most: key n is used 1/n times as often. */
static void prepare_requests(void) {
  requests = calloc(KEYS_MAX, sizeof *requests);
  weights = calloc(KEYS_MAX, sizeof *weights);
  char line[1024];
  FILE *file = options.keys ? fopen(options.keys, "re") : NULL;
  if (options.keys && !file) fail(options.keys);
  while (file && key_count < KEYS_MAX && fgets(line, sizeof line, file)) {
    line[strcspn(line, "\n")] = 0;
    weights[key_count] = (key_count ? weights[key_count - 1] : 0) + 1.0 / (double)(key_count + 1);
    requests[key_count++] = prepared_request(line);
  }
  if (file) fclose(file);
  else requests[key_count++] = prepared_request(options.key);
}

static const struct request *next_key(void) {
  static uint64_t state = 0x9e3779b97f4a7c15u;
  if (key_count == 1) return requests;
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  double wanted = (double)(state >> 11) / (double)(1ull << 53) * weights[key_count - 1];
  size_t low = 0, high = key_count - 1;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (weights[middle] < wanted) low = middle + 1;
    else high = middle;
  }
  return requests + low;
}

/* A refused connection is tried again by whoever needs one; ERRORS_MAX ends a hopeless run. */
static bool open_socket(struct connection *connection) {
  int port = options.ports[(connection - connections) % options.port_count];
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) fail("socket");
  if (connect(fd, (struct sockaddr *)&address, sizeof address) < 0) {
    close(fd);
    return false;
  }
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  connection->fd = fd;
  connection->blocked = false;
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
  if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0) fail("epoll_ctl");
  return true;
}

static void watch_for(struct connection *connection, uint32_t events) {
  struct epoll_event event = {.events = events, .data.ptr = connection};
  if (epoll_ctl(epoll_fd, EPOLL_CTL_MOD, connection->fd, &event) < 0) fail("epoll_ctl");
}

static void close_socket(struct connection *connection) {
  if (connection->fd >= 0) close(connection->fd);
  connection->fd = -1;
}

static uint64_t scheduled_ns(uint64_t index) {
  return start_ns + (uint64_t)((double)index * SECOND_NS / options.rate);
}

/*
 * What a connection does when it has nothing to do: the next request of a closed loop at once, that of an open loop
 * when its time has come. A held stream is not started again.
 */
static void next_request(struct connection *connection) {
  connection->busy = false;
  if (options.hold) return;
  if (options.rate == 0) {
    begin(connection, now_ns());
  } else if (issued_count < scheduled_count) {
    begin(connection, scheduled_ns(issued_count++));
  } else {
    free_connections[free_count++] = connection;
  }
}

static void first_event_seen(struct connection *connection) {
  connection->seen_event = true;
  record(&first_event, now_ns() - connection->began_ns);
  if (!options.hold) return;
  opening_count--;
  open_count++;
}

static void fail_request(struct connection *connection) {
  close_socket(connection);
  counts.errors++;
  if (counts.errors >= ERRORS_MAX) stopped = 1;
  if (options.hold && connection->busy) {
    if (connection->seen_event) open_count--;
    else opening_count--;
  }
  if (!stopped) next_request(connection);
}

static void finish_request(struct connection *connection) {
  if (!connection->ok) counts.non_2xx++;
  if (options.hold) { /* a stream that was to be held has ended */
    fail_request(connection);
    return;
  }
  counts.requests++;
  uint64_t now = now_ns();
  record(&whole, now - connection->began_ns);
  if (request_log) fprintf(request_log, "%lu %lu\n", connection->began_ns, now);
  if (connection->last) close_socket(connection);
  if (options.requests && counts.requests >= options.requests) stopped = 1;
  if (!stopped) next_request(connection);
}

static void send_request(struct connection *connection) {
  const struct request *request = connection->request;
  ssize_t sent = send(connection->fd, request->bytes + connection->sent,
                      request->length - connection->sent, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent < 0 && errno != EAGAIN) {
    fail_request(connection);
    return;
  }
  if (sent > 0) connection->sent += (size_t)sent;
  bool blocked = connection->sent < request->length;
  if (blocked == connection->blocked) return;
  connection->blocked = blocked;
  watch_for(connection, blocked ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

static void begin(struct connection *connection, uint64_t began_ns) {
  if (stopped) return;
  connection->busy = true;
  connection->in_body = connection->seen_event = connection->last = false;
  connection->matched = 0;
  connection->sent = connection->head_used = 0;
  connection->began_ns = began_ns;
  connection->request = next_key();
  if (connection->fd < 0 && !open_socket(connection)) {
    fail_request(connection);
    return;
  }
  send_request(connection);
}

/* Counts the lines of the stream that start with "data:". */
static void count_events(struct connection *connection, const char *bytes, size_t length) {
  static const char mark[] = "data:";
  const char *end = bytes + length;
  while (bytes < end) {
    if (connection->matched < 0) {
      bytes = memchr(bytes, '\n', (size_t)(end - bytes));
      if (bytes == NULL) return;
      connection->matched = 0;
      bytes++;
    } else if (*bytes == '\n') {
      connection->matched = 0;
      bytes++;
    } else if (*bytes++ != mark[connection->matched++]) {
      connection->matched = -1;
    } else if (connection->matched == 5) {
      connection->matched = -1;
      counts.events++;
      if (!connection->seen_event) first_event_seen(connection);
    }
  }
}

static void read_body(struct connection *connection, const char *data, size_t length) {
  const char *payload;
  size_t payload_length, at = 0;
  while (at < length && connection->body.state != BODY_DONE) {
    at += body_read(&connection->body, data + at, length - at, &payload, &payload_length);
    if (payload != NULL && options.stream && connection->ok)
      count_events(connection, payload, payload_length);
  }
  if (connection->body.state != BODY_DONE) return;
  if (at < length) fail_request(connection); /* bytes that no request asked for */
  else finish_request(connection);
}

static void read_head(struct connection *connection, const char *data, size_t length) {
  size_t kept = connection->head_used, room = HEAD_BYTES_MAX - kept;
  size_t taken = length < room ? length : room;
  memcpy(connection->head + kept, data, taken);
  connection->head_used += taken;
  char *end = memmem(connection->head, connection->head_used, "\r\n\r\n", 4);
  if (end == NULL) {
    if (taken == room) fail_request(connection);
    return;
  }
  size_t head_length = (size_t)(end - connection->head) + 4;
  const char *closing = header(connection->head, head_length, "connection:");
  connection->last = closing != NULL && strncasecmp(closing, "close", 5) == 0;
  connection->ok = head_length > 12 && connection->head[9] == '2';
  connection->body = body_of(connection->head, head_length, BODY_UNTIL_CLOSE);
  connection->in_body = true;
  connection->head_used = 0;
  read_body(connection, data + (head_length - kept), length - (head_length - kept));
}

static void receive(struct connection *connection) {
  static char data[256 << 10];
  ssize_t length = recv(connection->fd, data, sizeof data, MSG_DONTWAIT);
  if (length < 0 && errno == EAGAIN) return;
  if (length > 0 && connection->busy) {
    if (connection->in_body) read_body(connection, data, (size_t)length);
    else read_head(connection, data, (size_t)length);
    return;
  }
  if (!connection->busy) { /* a server may close an idle connection: the next request reopens it */
    counts.reconnects++;
    close_socket(connection);
  } else if (length == 0 && connection->in_body && connection->body.state == BODY_UNTIL_CLOSE) {
    connection->last = true;
    finish_request(connection);
  } else {
    fail_request(connection);
  }
}

static void start_connections(void) {
  while (started_count < options.connections && (!options.hold || opening_count < OPENING_MAX)) {
    struct connection *connection = &connections[started_count++];
    connection->fd = -1;
    if (options.hold) {
      opening_count++;
      begin(connection, now_ns());
    } else {
      next_request(connection);
    }
  }
}

static void issue_scheduled(void) {
  uint64_t expirations;
  if (read(timer_fd, &expirations, sizeof expirations) < 0) return;
  uint64_t now = now_ns();
  while (scheduled_ns(scheduled_count) <= now) scheduled_count++;
  while (free_count > 0 && issued_count < scheduled_count)
    begin(free_connections[--free_count], scheduled_ns(issued_count++));
}

static struct timespec time_of(uint64_t ns) {
  return (struct timespec){.tv_sec = (time_t)(ns / SECOND_NS), .tv_nsec = (long)(ns % SECOND_NS)};
}

static void start_schedule(void) {
  uint64_t period = (uint64_t)(SECOND_NS / options.rate);
  struct itimerspec when = {.it_value = time_of(start_ns), .it_interval = time_of(period)};
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = &timer_fd};
  epoll_ctl(epoll_fd, EPOLL_CTL_ADD, timer_fd, &event);
  if (timerfd_settime(timer_fd, TFD_TIMER_ABSTIME, &when, NULL) < 0) fail("timerfd_settime");
}

static void turn(int timeout_ms) {
  static struct epoll_event events[EVENTS_PER_WAKE_MAX];
  int count = epoll_wait(epoll_fd, events, EVENTS_PER_WAKE_MAX, timeout_ms);
  for (int i = 0; i < count; i++) {
    struct connection *connection = events[i].data.ptr;
    if (events[i].data.ptr == &timer_fd) issue_scheduled();
    else if (events[i].events & EPOLLOUT) send_request(connection);
    else if (connection->fd >= 0) receive(connection);
  }
}

static uint64_t unanswered(void) {
  uint64_t busy = 0;
  for (int i = 0; i < started_count; i++) busy += connections[i].busy;
  return busy + (scheduled_count - issued_count);
}

/* The run waits for requests of an open loop that are late at its end: omitting them would hide the worst latencies. */
static void drain(void) {
  struct epoll_event none = {0};
  epoll_ctl(epoll_fd, EPOLL_CTL_DEL, timer_fd, &none);
  uint64_t end = now_ns() + (uint64_t)DRAIN_SECONDS_MAX * SECOND_NS;
  while (!stopped && now_ns() < end && unanswered() > 0) turn(10);
  counts.unfinished = unanswered();
}

static uint64_t run(void) {
  start_ns = now_ns();
  if (options.rate > 0) start_schedule();
  start_connections();
  uint64_t open_end = start_ns + (uint64_t)OPEN_SECONDS_MAX * SECOND_NS;
  while (options.hold && !stopped && opening_count > 0 && now_ns() < open_end) {
    turn(100);
    start_connections();
  }
  if (options.hold) {
    fprintf(stderr, "holding %d\n", open_count);
    start_ns = now_ns();
  }
  uint64_t end = start_ns + (uint64_t)(options.seconds * SECOND_NS);
  while (!stopped && now_ns() < end) turn(100);
  uint64_t elapsed = now_ns() - start_ns;
  if (options.rate > 0) drain();
  return elapsed;
}

static void print_results(uint64_t elapsed_ns) {
  double seconds = (double)elapsed_ns / SECOND_NS;
  printf("{\"mode\":\"%s\",\"connections\":%d,\"seconds\":%.3f,\"requests\":%lu,",
         options.hold ? "hold" : options.rate > 0 ? "open" : "closed", options.connections,
         seconds, counts.requests);
  printf("\"requestsPerSecond\":%.1f,\"p50Us\":%.1f,\"p99Us\":%.1f,\"maxUs\":%.1f,",
         (double)counts.requests / seconds, percentile_us(&whole, 0.5),
         percentile_us(&whole, 0.99), (double)whole.max_ns / 1000);
  printf("\"events\":%lu,\"eventsPerSecond\":%.1f,\"firstEventP50Us\":%.1f,"
         "\"firstEventP99Us\":%.1f,",
         counts.events, (double)counts.events / seconds, percentile_us(&first_event, 0.5),
         percentile_us(&first_event, 0.99));
  printf("\"non2xx\":%lu,\"errors\":%lu,\"reconnects\":%lu,\"unfinished\":%lu,\"open\":%d}\n",
         counts.non_2xx, counts.errors, counts.reconnects, counts.unfinished, open_count);
}

static void read_options(int count, char **arguments) {
  static const struct option known[] = {
      {"port", required_argument, NULL, 'p'},     {"connections", required_argument, NULL, 'c'},
      {"seconds", required_argument, NULL, 't'},  {"rate", required_argument, NULL, 'r'},
      {"requests", required_argument, NULL, 'n'},   {"keys", required_argument, NULL, 'K'},
      {"body-bytes", required_argument, NULL, 'b'}, {"key", required_argument, NULL, 'k'},
      {"model", required_argument, NULL, 'm'},    {"path", required_argument, NULL, 'u'},
      {"stream", no_argument, &options.stream, 1}, {"hold", no_argument, &options.hold, 1},
      {"headers", required_argument, NULL, 'h'},  {"log", required_argument, NULL, 'l'},
      {"include-usage", no_argument, &options.usage, 1},
      {"input", no_argument, &options.input, 1},  {NULL, 0, NULL, 0}};
  for (int option; (option = getopt_long(count, arguments, "", known, NULL)) != -1;) {
    switch (option) {
      case 'p':
        if (options.port_count < PORTS_MAX) options.ports[options.port_count++] = atoi(optarg);
        break;
      case 'c': options.connections = atoi(optarg); break;
      case 't': options.seconds = atof(optarg); break;
      case 'r': options.rate = atof(optarg); break;
      case 'n': options.requests = strtoull(optarg, NULL, 10); break;
      case 'b': options.body_bytes = atoi(optarg); break;
      case 'k': options.key = optarg; break;
      case 'K': options.keys = optarg; break;
      case 'm': options.model = optarg; break;
      case 'u': options.path = optarg; break;
      case 'h': options.headers = optarg; break;
      case 'l': options.log = optarg; break;
      case 0: break;
      default: exit(64);
    }
  }
  if (options.hold) options.stream = 1;
}

int main(int count, char **arguments) {
  read_options(count, arguments);
  if (options.port_count == 0 || options.ports[0] == 0 || options.connections < 1) {
    fprintf(stderr, "usage: load --port N [--port N ...] [--connections N] [--seconds T] [--requests N]\n"
                    "            [--rate R] [--stream] [--hold] [--body-bytes N] [--key K] [--keys FILE]\n"
                    "            [--model M] [--path P] [--headers LINES] [--include-usage] [--input]\n"
                    "            [--log FILE]\n");
    return 64;
  }
  signal(SIGTERM, stop);
  signal(SIGINT, stop);
  prepare_requests();
  if (options.log && !(request_log = fopen(options.log, "we"))) fail(options.log);
  connections = calloc((size_t)options.connections, sizeof *connections);
  free_connections = calloc((size_t)options.connections, sizeof *free_connections);
  epoll_fd = epoll_create1(0);
  timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
  print_results(run());
}

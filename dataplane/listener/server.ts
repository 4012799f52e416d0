/** HTTP in, HTTP out: the three listeners. The only file that knows fastify. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type FastifyError, type FastifyInstance, fastify } from 'fastify'
import { adminRefusal } from '../admin/guard.ts'
import { ADMIN_ROUTES, type AdminAccess, type Administered } from '../admin/routes.ts'
import type { Api } from '../apis/contract.ts'
import { APIS } from '../apis/index.ts'
import { unknownApi } from '../apis/unknown.ts'
import { isSpelledAs, pathOf } from '../base/path-spelling.ts'
import { shownPath } from '../base/shown-text.ts'
import type { Gateway } from '../gateway.ts'
import { serve } from '../visit.ts'
import { isAged, limitAge } from './connection-age.ts'
import { corsHeaders, preflight } from './cors.ts'
import { rawOf } from './handed-over.ts'
import { takeOver } from './http1/door.ts'
import { answerLast, isLastAnswered } from './last-answer.ts'
import { NodeExchange } from './node-exchange.ts'
import { PreflightLog } from './preflight-log.ts'
import { HEADER_BYTES_MAX, rawRefusal, refuseRaw } from './raw-refusal.ts'
import { bodyIsUnread, wireFault } from './wire.ts'

/** Above the bound that is checked, so that Node drops no header silently. */
const NODE_HEADERS_MAX = 2000
const HEADERS_TIMEOUT_MS = 10_000
const BODY_TIMEOUT_MS = 60_000
const SOCKETS_MAX = 20_000
const ADMIN_BODY_BYTES_MAX = 16_777_216
/** Of the name of a tenant, with every character encoded. */
const ADMIN_PARAM_LENGTH_MAX = 1024

/** The client listener. `listen` it, `close` it: closing waits for requests in flight. */
export function createServer(gateway: Gateway, connectionAgeMs: number): FastifyInstance {
  const preflights = new PreflightLog(gateway.clock, gateway.log)
  const app = openFastify(gateway, preflights)
  const server = app.server
  takePlain(server, gateway)
  if (connectionAgeMs > 0) limitAge(server, connectionAgeMs, gateway)
  server.maxHeadersCount = NODE_HEADERS_MAX
  server.maxConnections = SOCKETS_MAX
  // Without these two Node answers by itself, before the key has been looked at.
  server.on('checkContinue', (incoming, outgoing) => server.emit('request', incoming, outgoing))
  server.on('checkExpectation', (incoming, outgoing) => server.emit('request', incoming, outgoing))
  // A client that takes the gateway for a forward proxy gets an answer.
  server.on('connect', ({ socket }) => refuseRaw(new Error('CONNECT'), socket, gateway))
  // Stages read the body themselves: a refusal by the headers must not wait for it.
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'QUERY']) {
    app.addHttpMethod(method, { hasBody: false, overrideExisting: true })
  }
  for (const api of APIS) {
    const method = api.method === 'GET' ? (['GET', 'HEAD'] as const) : api.method
    const handler = handlerOf(gateway, api, preflights)
    app.route({
      method: method as 'GET',
      url: api.path,
      handler: (request, reply) => {
        reply.hijack()
        handler(request.raw, reply.raw)
      },
    })
  }
  const unknown = handlerOf(gateway, undefined, preflights)
  app.setNotFoundHandler((request, reply) => {
    reply.hijack()
    unknown(request.raw, reply.raw)
  })
  return app
}

/** Nothing is described to fastify by JSON schemas; it need not load the hundred modules that would compile them. */
const NO_SCHEMAS = {
  compilersFactory: { buildValidator: compileNothing, buildSerializer: compileNothing },
}

function compileNothing(): never {
  throw new Error('No route has a schema.')
}

function openFastify(gateway: Gateway, preflights: PreflightLog): FastifyInstance {
  return fastify({
    logger: false,
    schemaController: NO_SCHEMAS,
    exposeHeadRoutes: false,
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    keepAliveTimeout: gateway.active.snapshot.keepaliveMs,
    requestTimeout: BODY_TIMEOUT_MS,
    http: {
      insecureHTTPParser: false,
      // `wireFault` requires it: Node would answer by itself, without id and body.
      requireHostHeader: false,
      maxHeaderSize: HEADER_BYTES_MAX,
      headersTimeout: HEADERS_TIMEOUT_MS,
      connectionsCheckingInterval: 1000,
      noDelay: true,
    },
    routerOptions: { maxParamLength: 512 },
    clientErrorHandler: (error, socket) => refuseRaw(error, socket, gateway),
    frameworkErrors: (_error, request, reply) => {
      reply.hijack()
      handlerOf(gateway, undefined, preflights)(request.raw, reply.raw)
    },
  }) as FastifyInstance
}

/** Plain requests to an API with a fixed path skip Node's parser and fastify's router. */
function takePlain(server: FastifyInstance['server'], gateway: Gateway): void {
  const apis = APIS.filter(({ path }) => !path.endsWith('*'))
  takeOver(server, {
    clock: gateway.clock,
    deadlines: gateway.deadlines,
    apis,
    answer(exchange, line, receivedAt) {
      const api = apis[line]
      if (api === undefined) return
      const { socket } = exchange
      const { cors } = gateway.active.snapshot.section.gateway
      const answered = corsHeaders(exchange.header('origin'), cors)
      if (gateway.draining || isAged(socket, receivedAt)) answered.push('connection', 'close')
      const id = gateway.newRequestId()
      void serve({ id, incoming: exchange, outgoing: exchange, receivedAt }, gateway, answered, api)
    },
    refuseLate: (socket) => refuseRaw(LATE, socket, gateway),
    brokenBody: (isLate) => rawRefusal(isLate ? LATE.code : undefined),
  })
}

/** What Node says of a request that does not come in time. */
const LATE = Object.assign(new Error('late'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' })

/** `api` is undefined for a path that is not an API. */
function handlerOf(gateway: Gateway, api: Api | undefined, preflights: PreflightLog) {
  return (incoming: IncomingMessage, outgoing: ServerResponse): void => {
    if (isLastAnswered(incoming.socket)) return
    const id = gateway.newRequestId()
    const receivedAt = gateway.clock.now()
    const exchange = new NodeExchange(incoming, outgoing)
    const fault = wireFault(exchange, incoming.httpVersion)
    const origin = exchange.header('origin')
    const cors = gateway.active.snapshot.section.gateway.cors
    const headers = corsHeaders(origin, cors)
    if (fault !== undefined) answerLast(incoming.socket)
    if (gateway.draining || fault !== undefined || isAged(rawOf(incoming.socket), receivedAt))
      headers.push('connection', 'close')
    if (fault === undefined && incoming.method === 'OPTIONS') {
      if (bodyIsUnread(exchange)) {
        answerLast(incoming.socket)
        headers.push('connection', 'close')
      }
      const method = exchange.header('access-control-request-method')
      preflights.note({ requestId: id, origin, method, cors })
      const allowed = preflight(headers, exchange.header('access-control-request-headers'))
      outgoing.writeHead(204, [...headers, ...allowed, ...unrouted(id)]).end()
      return
    }
    // The router decodes a path before it looks it up.
    const known = api !== undefined && isSpelledAs(pathOf(exchange.url), api.path) ? api : undefined
    const spelled = known ?? unknownApi(exchange.header('anthropic-version') !== undefined)
    void serve(
      { id, incoming: exchange, outgoing: exchange, receivedAt },
      gateway,
      headers,
      fault === undefined ? spelled : { ...spelled, run: () => Promise.reject(fault) },
    )
  }
}

/** The headers of every answer, of one that has no route. */
function unrouted(requestId: string): string[] {
  return ['x-request-id', requestId, 'x-gw-route', 'none', 'x-gw-upstream', 'none']
}

/** GET /metrics on its own port. */
export function createMetricsServer(render: () => Promise<string>): FastifyInstance {
  const app = fastify({ logger: false, schemaController: NO_SCHEMAS })
  app.get('/metrics', async (_request, reply) => {
    reply.type('text/plain; version=0.0.4; charset=utf-8')
    return render()
  })
  return app
}

/** The admin API, on a socket or on loopback; who may ask for what is decided in admin-guard.ts. */
export function createAdminServer(administered: Administered, door: AdminAccess): FastifyInstance {
  const app = fastify({
    logger: false,
    schemaController: NO_SCHEMAS,
    bodyLimit: ADMIN_BODY_BYTES_MAX,
    routerOptions: { maxParamLength: ADMIN_PARAM_LENGTH_MAX },
    frameworkErrors: (error, _request, reply) => {
      reply.hijack()
      reply.raw.writeHead(400, { 'content-type': 'application/json; charset=utf-8' })
      reply.raw.end(JSON.stringify(told(error)))
    },
  })
  app.setErrorHandler<FastifyError>((error, _request, reply) =>
    reply.code(error.statusCode ?? 500).send(told(error)),
  )
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => done(null, body))
  app.addHook('onRequest', async (request, reply) => {
    const isStatus = request.routeOptions.url === '/status'
    const refusal = adminRefusal({ ...request.headers, method: request.method, isStatus }, door)
    if (refusal === undefined) return
    if (refusal.status === 401) reply.header('www-authenticate', 'Bearer')
    return reply.code(refusal.status).send({ error: { message: refusal.message } })
  })
  app.setNotFoundHandler((request, reply) => {
    const message = `There is no ${request.method} ${shownPath(request.url)} in the admin API.`
    return reply.code(404).send({ error: { message } })
  })
  for (const route of ADMIN_ROUTES) {
    app.route({
      method: route.method,
      url: route.path,
      handler: async (request, reply) => {
        const { status, body } = await route.run(
          {
            params: request.params as Record<string, string>,
            query: request.query as Record<string, string>,
            body: typeof request.body === 'string' ? request.body : '',
          },
          administered,
        )
        return reply.code(status).send(body)
      },
    })
  }
  return app
}

/** As every error of the admin API is told. */
function told({ message }: Error) {
  return { error: { message } }
}

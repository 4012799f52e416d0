/** The listeners of operators: metrics and the admin API. The only file that knows fastify. */
import { type FastifyError, type FastifyInstance, fastify } from 'fastify'
import { adminRefusal } from '../admin/guard.ts'
import { ADMIN_ROUTES, type AdminAccess, type Administered } from '../admin/routes.ts'
import { answerOf } from '../admin/whole/answers.ts'
import { shownName, shownPath } from '../base/shown-text.ts'
import type { Feed } from '../console/feed.ts'
import { DATA_HEADERS, sendPageFile } from '../console/page-files.ts'
import type { Exposition } from '../telemetry/otlp/exposition.ts'
import { createOperatorServer } from './operators.ts'

const ADMIN_BODY_BYTES_MAX = 16_777_216
/** The name of a tenant, with every character encoded. */
const ADMIN_PARAM_LENGTH_MAX = 1024
/** A reader of metrics has stopped waiting by then. */
const SCRAPE_SILENCE_MS = 60_000

/** fastify gets no JSON schemas, so it need not load the hundred modules that would compile them. */
const NO_SCHEMAS = {
  compilersFactory: { buildValidator: compileNothing, buildSerializer: compileNothing },
}

function compileNothing(): never {
  throw new Error('No route has a schema.')
}

/** GET /metrics on its own port. */
export function createMetricsServer(
  render: (accept: string | undefined) => Promise<Exposition>,
): FastifyInstance {
  const app = fastify({
    logger: false,
    schemaController: NO_SCHEMAS,
    serverFactory: (handler) => createOperatorServer(handler, { silenceMs: SCRAPE_SILENCE_MS }),
  })
  app.get('/metrics', async (request, reply) => {
    const { type, text } = await render(request.headers.accept)
    reply.type(type)
    return text
  })
  return app
}

/** The admin API, on a socket or on loopback; admin-guard.ts decides who may send which request. */
export function createAdminServer(
  administered: Administered,
  door: AdminAccess,
  feed: Feed,
): FastifyInstance {
  const app = fastify({
    logger: false,
    schemaController: NO_SCHEMAS,
    serverFactory: (handler) => createOperatorServer(handler, {}),
    bodyLimit: ADMIN_BODY_BYTES_MAX,
    routerOptions: { maxParamLength: ADMIN_PARAM_LENGTH_MAX },
    frameworkErrors: (error, _request, reply) => {
      reply.hijack()
      reply.raw.writeHead(400, { 'content-type': 'application/json; charset=utf-8' })
      reply.raw.end(JSON.stringify(errorBody(error)))
    },
  })
  app.setErrorHandler<FastifyError>((error, _request, reply) =>
    reply.code(error.statusCode ?? 500).send(errorBody(error)),
  )
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => done(null, body))
  app.addHook('onRequest', async (request, reply) => {
    reply.headers(DATA_HEADERS)
    const isOpen = OPEN.has(request.routeOptions.url ?? '')
    // The guard does not accept a repeated header.
    const headers = request.headers as Record<string, string | undefined>
    const refusal = adminRefusal({ ...headers, method: request.method, isOpen }, door)
    if (refusal === undefined) return
    if (refusal.status === 401) reply.header('www-authenticate', 'Bearer')
    return reply.code(refusal.status).send({ error: { message: refusal.message } })
  })
  app.setNotFoundHandler((request, reply) => {
    const message = `There is no ${request.method} ${shownPath(request.url)} in the admin API.`
    return reply.code(404).send({ error: { message } })
  })
  addConsole(app, feed)
  for (const route of ADMIN_ROUTES) {
    app.route({
      method: route.method,
      url: route.path,
      handler: async (request, reply) => {
        const asked = {
          params: request.params as Record<string, string>,
          query: writtenOnce(request.query as Record<string, string | string[]>),
          body: typeof request.body === 'string' ? request.body : '',
        }
        const { status, body } = await answerOf(route, asked, administered)
        return reply.code(status).send(body)
      },
    })
  }
  return app
}

/** Readable without the token: the status, and the files of the console, which have no data. */
const OPEN = new Set(['/status', '/console', '/console/*'])

function addConsole(app: FastifyInstance, feed: Feed): void {
  app.get('/console', (_request, reply) => reply.redirect('/console/'))
  app.get('/console/events', (_request, reply) => {
    reply.hijack()
    feed.join(reply.raw)
  })
  app.get<{ Params: { '*': string } }>('/console/*', (request, reply) => {
    reply.hijack()
    sendPageFile(request.params['*'], request.raw, reply.raw)
  })
}

/** The parameters of a query; throws for one that has two values. */
function writtenOnce(query: Record<string, string | string[]>): Record<string, string> {
  for (const [name, value] of Object.entries(query)) {
    if (typeof value === 'string') continue
    const message = `"${shownName(name)}" is in the query ${value.length} times; write it once.`
    throw Object.assign(new Error(message), { statusCode: 400 })
  }
  return query as Record<string, string>
}

/** The body of every error of the admin API. */
function errorBody({ message }: Error) {
  return { error: { message } }
}

/**
 * Gateways behind egress proxies, and their upstreams: with and without TLS, with whole and endless
 * answers.
 */
import { Certificates } from '../helpers/certificates.ts'
import { startProxy } from './connect-proxy.ts'
import { startEgressGateway } from './egress-gateway.ts'
import { type Reply, startTcpServer, startTlsServer } from './raw-server.ts'

const certificates = new Certificates()
const authority = certificates.authority()
const good = certificates.make({ by: authority })
const EVENT = `data: {"choices":[{"index":0,"delta":{"content":"hello"},"finish_reason":null}]}\n\n`
const streams: Reply = (socket) => {
  socket.write('HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n')
  socket.write(EVENT)
}

export const plain = await startTcpServer()
export const endless = await startTcpServer(streams)
export const secure = await startTlsServer(good)
export const endlessSecure = await startTlsServer(good, streams)
export const wrongName = await startTlsServer(
  certificates.make({ by: authority, names: 'DNS:other.example' }),
)
export const proxy = await startProxy()
export const secureProxy = await startProxy(good)
export const misnamedProxy = await startProxy(
  certificates.make({ by: authority, names: 'DNS:a.example' }),
)

/** The credential in the proxies' URLs, as sent to a proxy. */
export const PROXY_USER = 'Basic dXNlcjpwQHNzd29yZA=='
const upstreams = {
  plain: { endpoint: `http://localhost:${plain.port}` },
  plain_address: { endpoint: `http://127.0.0.1:${plain.port}` },
  secure: { endpoint: `https://localhost:${secure.port}` },
  hasty: {
    endpoint: `https://localhost:${secure.port}`,
    connect_timeout_seconds: 2,
  },
  // Only the proxy can resolve this name.
  unknown: { endpoint: 'https://no-such-name.invalid' },
  wrong_name: { endpoint: `https://localhost:${wrongName.port}` },
  endless: { endpoint: `http://localhost:${endless.port}` },
  endless_secure: { endpoint: `https://localhost:${endlessSecure.port}` },
}
const tls = { ca_bundle_path: authority.certFile }

function start(http_proxy: string, no_proxy: string | string[]) {
  return startEgressGateway({ upstreams, section: { tls, http_proxy, no_proxy } })
}

export const gateway = await start(
  `http://user:p%40ssword@127.0.0.1:${proxy.port}`,
  'other.example',
)
export const throughSecure = await start(
  `https://user:p%40ssword@localhost:${secureProxy.port}`,
  [],
)
export const throughMisnamed = await start(`https://localhost:${misnamedProxy.port}`, [])
export const direct = await start('http://127.0.0.1:9', 'localhost, 127.0.0.0/8')
export const unreachable = await start('http://127.0.0.1:9', [])
export const servers = [plain, endless, secure, endlessSecure, wrongName]
export const proxies = [proxy, secureProxy, misnamedProxy]

export async function stopAll(): Promise<void> {
  const gateways = [gateway, throughSecure, throughMisnamed, direct, unreachable]
  await Promise.all(gateways.map((one) => one.stop()))
  await Promise.all([...servers, ...proxies].map((one) => one.close()))
  certificates.remove()
}

/** GET /healthz, /readyz and /: for load balancers and the kubelet, without a key. */
import type { Api } from '../../request/api.ts'
import { openAiWire } from '../openai/wire.ts'

export const healthz: Api = {
  method: 'GET',
  path: '/healthz',
  quiet: true,
  summary: '200 while the process serves.',
  wire: openAiWire,
  run: ({ response }) => response.send(200, 'application/json', '{"status":"ok"}'),
}

export const readyz: Api = {
  method: 'GET',
  path: '/readyz',
  quiet: true,
  summary: '200 when a configuration is active and the gateway is not draining, else 503.',
  wire: openAiWire,
  run({ response, gateway }) {
    if (gateway.draining) response.send(503, 'application/json', '{"status":"draining"}')
    else if (gateway.lacksKeys)
      response.send(503, 'application/json', '{"status":"waiting for keys"}')
    else response.send(200, 'application/json', '{"status":"ready"}')
  },
}

/** The default path of several load balancers. */
export const root: Api = { ...readyz, path: '/', summary: 'The same as `/readyz`.' }

/**
 * A gateway for tests of SDKs, with two real model servers, a key for all routes and a key for one.
 */
import { aKey } from '../helpers/a-key.ts'
import { startGateway } from '../helpers/gateway-process.ts'
import { startModelServer } from '../helpers/model/model-server.ts'

/** Routes: `chat` returns known texts, `endless` never ends by itself. */
export async function startSdkGateway() {
  const allowed = aKey({ id: 'allowed', routes: ['chat', 'endless'] })
  const narrow = aKey({ id: 'narrow', routes: ['endless'] })
  const script = await startModelServer()
  // Slow, and with so much room that its answer would take far longer than the tests wait.
  const loop = await startModelServer({ model: 'loop', slowLayers: 2, context: 32_768 })
  const gateway = await startGateway({
    config: {
      apiVersion: 'inference.gw/v1',
      kind: 'GatewayConfig',
      gw: {
        upstreams: [
          { name: 'script', provider: 'llamacpp', endpoint: script.url, model: 'tiny' },
          { name: 'loop', provider: 'llamacpp', endpoint: loop.url, model: 'tiny' },
        ],
        routes: [
          { name: 'chat', strategy: 'single', primary: 'script' },
          { name: 'endless', strategy: 'single', primary: 'loop' },
        ],
        api_keys: [allowed.record, narrow.record],
      },
    },
  })
  const stop = () => Promise.all([gateway.stop(), script.stop(), loop.stop()])
  return { gateway, allowed, narrow, loop, stop }
}

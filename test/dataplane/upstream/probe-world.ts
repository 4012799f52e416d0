/** A world whose time advances only by the test, and whose probes end only by the test. */
export function aWorld(random = 0.5) {
  const calls = new Map<symbol, { at: number; call: () => void }>()
  const probes: { begun: number; end: (ok: boolean) => void; fail: (error: Error) => void }[] = []
  const world = {
    time: 0,
    calls,
    probes,
    now: () => world.time,
    random: () => random,
    schedule(delayMs: number, call: () => void) {
      const key = Symbol('call')
      calls.set(key, { at: world.time + delayMs, call })
      return () => void calls.delete(key)
    },
    probe() {
      const { promise, resolve, reject } = Promise.withResolvers<boolean>()
      probes.push({ begun: world.time, end: resolve, fail: reject })
      return promise
    },
    moveTo(time: number) {
      for (const [key, { at, call }] of calls) {
        if (at > time) continue
        calls.delete(key)
        world.time = Math.max(world.time, at)
        call()
      }
      world.time = time
    },
    async end(ok: boolean) {
      probes.at(-1)?.end(ok)
      await new Promise(setImmediate)
    },
  }
  return world
}

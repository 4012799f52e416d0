/** Loaded before a gateway (`node --import`): names resolve as in a file, and all others by the system. */
import dns from 'node:dns'
import { readFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

type Found = (error: Error | null, addresses?: unknown) => void

const system = dns.lookup as unknown as (...given: unknown[]) => void

function lookup(name: string, options: { readonly all?: boolean }, callback: Found): void {
  const names = JSON.parse(readFileSync(process.env.TEST_NAMES as string, 'utf8'))
  const addresses: readonly string[] | undefined = names[name]
  if (addresses === undefined) {
    system(name, options, callback)
    return
  }
  setImmediate(() => {
    if (addresses.length === 0)
      callback(Object.assign(new Error(`ENOTFOUND ${name}`), { code: 'ENOTFOUND' }))
    else if (options.all === true)
      callback(
        null,
        addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
      )
    else (callback as (...given: unknown[]) => void)(null, addresses[0], 4)
  })
}

dns.lookup = lookup as never
syncBuiltinESMExports()

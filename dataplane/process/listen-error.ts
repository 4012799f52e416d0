/** Why the process cannot listen: all obstacles at once, and what to change. */

export interface Fault {
  readonly field: 'listen_port' | 'metrics_port' | 'admin_port' | 'push_port' | 'socket'
  readonly error: NodeJS.ErrnoException & { readonly address?: string; readonly port?: number }
}

const SETTINGS: Readonly<Record<Fault['field'], string>> = {
  listen_port: 'gw.gateway.listen_port (GW_LISTEN_PORT)',
  metrics_port: 'gw.gateway.metrics_port (GW_METRICS_PORT)',
  admin_port: 'gw.gateway.admin_port (GW_ADMIN_PORT)',
  push_port: 'GW_PUSH_PORT',
  socket: 'gw.gateway.listen_port (GW_LISTEN_PORT)',
}

export class ListenError extends Error {
  constructor(faults: readonly Fault[]) {
    super(sentenceOf(faults))
  }
}

function sentenceOf(faults: readonly Fault[]): string {
  const taken = faults.filter(({ error }) => error.code === 'EADDRINUSE')
  const denied = faults.filter(({ error }) => error.code === 'EACCES')
  const others = faults.filter((fault) => !taken.includes(fault) && !denied.includes(fault))
  const sentences = [
    ...inUse(taken),
    ...denied.map(
      (fault) => `${placeOf(fault)} may not be bound by this user; ${choose([fault])} above 1023`,
    ),
    ...others.map(({ field, error }) =>
      field === 'socket' ? error.message : `cannot listen: ${error.message}`,
    ),
  ]
  return sentences.join('. ')
}

function inUse(taken: readonly Fault[]): string[] {
  if (taken.length === 0) return []
  const verb = taken.length === 1 ? 'is' : 'are'
  const places = joined(taken.map(placeOf))
  return [`${places} ${verb} in use; stop what listens there or ${choose(taken)}`]
}

function choose(faults: readonly Fault[]): string {
  const what = faults.length === 1 ? 'another port' : 'other ports'
  return `choose ${what} with ${joined(faults.map(({ field }) => SETTINGS[field]))}`
}

function placeOf({ error: { address = '', port = 0 } }: Fault): string {
  return `${address.includes(':') ? `[${address}]` : address}:${port}`
}

function joined(parts: readonly string[]): string {
  return parts.length < 2 ? parts.join('') : `${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}`
}

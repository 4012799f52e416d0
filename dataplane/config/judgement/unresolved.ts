/** Findings about references that lead nowhere. */

import type { Unresolved } from '../document/references.ts'
import type { Finding } from './problems.ts'

/** A gateway that starts needs every reference resolved; validation only warns about those that are not set here. */
export type Purpose = 'run' | 'validate'

export function unresolvedFinding({ path, reference, why }: Unresolved, purpose: Purpose): Finding {
  const code = 'ERR_GW_SECRET_UNRESOLVED'
  const fix = fixOf(reference)
  const message = `${reference} cannot be resolved: ${why}`
  return purpose === 'run'
    ? { severity: 'error', path, message, fix, code }
    : {
        severity: 'warning',
        path,
        message: `${reference} ${here(reference, why)}; start would fail with ${code}`,
        fix,
        code,
      }
}

function fixOf(reference: string): string {
  if (reference.startsWith('${env:')) return 'Set the variable where the gateway runs.'
  const [, name, key] = /^\$\{secret:([^/]+)\/(.+)\}$/.exec(reference) ?? []
  if (name === undefined) return 'Provide the file where the gateway runs.'
  const file = `$GW_SECRETS_DIR/${name}/${key}`
  return `Create the Secret ${name} with the key ${key}; outside of a cluster, the file ${file}.`
}

/** The machine that runs the gateway may have the reference. */
function here(reference: string, why: string): string {
  return reference.startsWith('${env:') ? 'is not set here' : `leads nowhere here: ${why}`
}

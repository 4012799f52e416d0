/** Ids of callers without a key begin with the name of their entry; no key may have such an id. */

import type { Section } from '../../../schema/index.ts'
import { entryOf } from '../../caller-id.ts'
import { type Finding, type Path, refuse } from '../../judgement/problems.ts'
import { at, type Check, quoted } from '../contract.ts'
import { repeated } from '../duplicates.ts'

const LISTS = ['jwt', 'certificates'] as const

/** The entries of `auth` by name, and the list that each is in. */
export function callersOf({ auth }: Section): ReadonlyMap<string, (typeof LISTS)[number]> {
  return new Map(LISTS.flatMap((list) => auth[list].map(({ name }) => [name, list] as const)))
}

/** Another check reports a name that appears twice in one list. */
const issuersAndCertificatesDiffer: Check = ({ auth }, context) => {
  const issuers = new Set(auth.jwt.map(({ name }) => name))
  const named = LISTS.flatMap((list) =>
    auth[list].map(({ name }, index) => ({ name, path: at('auth', list, index, 'name') })),
  )
  const inBoth = new Set(
    auth.certificates.map(({ name }) => name).filter((one) => issuers.has(one)),
  )
  return repeated(
    named.filter(({ name }) => inBoth.has(name)),
    'name of callers',
    context,
  )
}

const idsOfCallersAreTheirs: Check = (section) => {
  const { api_keys, auth } = section
  const entries = callersOf(section)
  if (entries.size === 0) return []
  const taken = (id: string, path: Path, fix: string): Finding[] => {
    const entry = entryOf(id, entries)
    if (entry === undefined) return []
    const whose = `auth.${entries.get(entry)} ${quoted(entry)}`
    return [refuse(path, `begins with "${entry}:", as ids of callers of ${whose} do`, fix)]
  }
  return [
    ...LISTS.flatMap((list) =>
      auth[list].flatMap(({ name }, index) =>
        taken(name, at('auth', list, index, 'name'), 'Give it another name.'),
      ),
    ),
    ...api_keys.flatMap(({ id }, index) =>
      taken(id, at('api_keys', index, 'id'), 'Give the key another id.'),
    ),
  ]
}

export const callerChecks = [issuersAndCertificatesDiffer, idsOfCallersAreTheirs]

/** The rules of a request under entries of `limits[]`. */
import { compileFurther } from '../../../dataplane/accounts/further/limits.ts'
import type { Subject } from '../../../dataplane/accounts/further/selectors.ts'
import type { Rules } from '../../../dataplane/accounts/store.ts'
import { FurtherLimit } from '../../../dataplane/schema/further-limits.ts'
import { aClock } from '../clock.ts'
import { aRule } from './world.ts'

const SUBJECT: Subject = {
  tenant: 'acme',
  key: 'k1',
  route: 'chat',
  models: ['served'],
  model: 'chat',
  operation: 'chat',
  tags: '',
}

const BASE = aRule()
const CLOCK = aClock()

export function limitedRules(
  limits: readonly Readonly<Record<string, unknown>>[],
): (subject?: Partial<Subject>) => Rules {
  const further = compileFurther(limits.map((limit) => FurtherLimit.parse(limit)))
  return (subject = {}) => further?.of(BASE, {}, { ...SUBJECT, ...subject }, CLOCK) ?? BASE
}

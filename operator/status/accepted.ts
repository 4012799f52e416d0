/** Accepted: whether the configuration is valid. */
import { countFindings } from '../../dataplane/config/judgement/problems.ts'
import { showFinding } from '../compile/compile.ts'
import { TIMED_OUT } from '../compile/judge-apart.ts'
import { no, unknown, yes } from './facts.ts'
import type { Policy } from './policies.ts'

const paused: Policy = ({ isPaused }) => {
  if (!isPaused) return undefined
  const message =
    'spec.paused is true: the pods keep their configuration. Set it to false to continue.'
  return unknown(message, 'Paused')
}

const notJudgedYet: Policy = ({ compiled }) =>
  compiled === undefined ? unknown('The configuration has not been checked yet.') : undefined

const invalid: Policy = ({ compiled }) => {
  const errors = compiled?.problems.filter(({ severity }) => severity === 'error') ?? []
  const [first] = errors
  if (first === undefined) return undefined
  const others = countFindings(errors) - 1
  const more = others > 0 ? ` (and ${others} more, see status.problems)` : ''
  const reason = first.code === TIMED_OUT ? 'CompilationTimedOut' : 'Invalid'
  return no(reason, `${showFinding(first)}${more}`)
}

const valid: Policy = ({ compiled }) => {
  const warnings = countFindings(compiled?.problems ?? [])
  if (warnings === 0) return yes('Accepted', 'The configuration is valid.')
  const count = warnings === 1 ? 'One warning' : `${warnings} warnings`
  return yes('Accepted', `The configuration is valid. ${count}, see status.problems.`)
}

export const ACCEPTED = [paused, notJudgedYet, invalid, valid]

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Breaker, type BreakerState, type Permit } from '../../../dataplane/connection/breaker.ts'

const SETTINGS = { failureThreshold: 3, openDurationMs: 1000, halfOpenProbes: 2 }

/** The rules again, from a full history instead of counters. */
class Model {
  readonly settings = SETTINGS
  /** Results of the present period, oldest first, and its unreturned permits. */
  results: boolean[] = []
  out = new Set<number>()
  state: BreakerState = 'closed'
  openedAt = 0

  permit(id: number, now: number): Permit['kind'] | undefined {
    if (this.state === 'open' && now - this.openedAt >= this.settings.openDurationMs) {
      this.enter('half_open')
    }
    if (this.state === 'open') return undefined
    if (this.state === 'half_open' && this.out.size >= this.settings.halfOpenProbes)
      return undefined
    this.out.add(id)
    return this.state === 'closed' ? 'closed' : 'probe'
  }

  result(id: number, ok: boolean | undefined, now: number) {
    if (!this.out.delete(id) || ok === undefined) return
    this.results.push(ok)
    const run = this.results.length - 1 - this.results.lastIndexOf(true)
    if (this.state === 'closed' && run >= this.settings.failureThreshold) this.open(now)
    else if (this.state === 'half_open' && !ok) this.open(now)
    else if (this.state === 'half_open' && this.results.length >= this.settings.halfOpenProbes) {
      this.enter('closed')
    }
  }

  open(now: number) {
    this.enter('open')
    this.openedAt = now
  }

  enter(state: BreakerState) {
    this.state = state
    this.results = []
    this.out.clear()
  }
}

const commands = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant('permit' as const) }),
    fc.record({ kind: fc.constant('wait' as const), ms: fc.integer({ min: 1, max: 700 }) }),
    fc.record({ kind: fc.constant('recovered' as const) }),
    fc.record({
      kind: fc.constant('result' as const),
      which: fc.nat(),
      ok: fc.constantFrom(true, false, false, undefined),
    }),
  ),
  { maxLength: 120, size: 'max' },
)

test('over any sequence of permits, results and time it behaves like the model', () => {
  const reached = new Set<string>()
  fc.assert(
    fc.property(commands, (sequence) => {
      const model = new Model()
      const breaker = new Breaker(SETTINGS, (from, to) => reached.add(`${from}>${to}`))
      const permits = new Map<number, Permit>()
      let now = 0
      for (const [id, command] of sequence.entries()) {
        if (command.kind === 'wait') now += command.ms
        if (command.kind === 'recovered') {
          breaker.recovered()
          if (model.state === 'open') model.enter('half_open')
        }
        if (command.kind === 'permit') {
          const grants = breaker.permits(now)
          const permit = breaker.permit(now)
          assert.equal(permit?.kind, model.permit(id, now))
          assert.equal(grants, permit !== undefined)
          if (permit !== undefined) permits.set(id, permit)
        }
        if (command.kind === 'result' && permits.size > 0) {
          const [which, permit] = [...permits][command.which % permits.size]!
          permits.delete(which)
          model.result(which, command.ok, now)
          if (command.ok === undefined) breaker.neutral(permit)
          else breaker[command.ok ? 'success' : 'failure'](permit, now)
        }
        const due = model.state === 'open' && now - model.openedAt >= SETTINGS.openDurationMs
        assert.equal(breaker.peek(now), due ? 'half_open' : model.state)
      }
    }),
    { numRuns: 1000 },
  )
  assert.equal(reached.size, 4)
})

/** Heavy work runs in turns, and rests while other requests are busy. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HeavyWork } from '../../dataplane/base/heavy-work.ts'

/** A process whose time passes only by work and by waiting. */
class Process {
  readonly work: HeavyWork
  ms = 0
  #timers: { readonly due: number; readonly call: () => void }[] = []
  #round: (() => void)[] = []
  #servedMs: number | undefined
  #writes = 0

  constructor() {
    this.work = new HeavyWork({
      now: () => this.ms,
      after: (ms, call) => void this.#timers.push({ due: this.ms + ms, call }),
      nextRound: (call) => void this.#round.push(call),
      writes: () => this.#writes,
    })
  }

  /** From now on a client is served this often, or never. */
  serves(everyMs: number | undefined): void {
    this.#servedMs = everyMs
  }

  nextRound(call: () => void): void {
    this.#round.push(call)
  }

  /** Runs until nothing waits. */
  run(): void {
    while (this.#round.length + this.#timers.length > 0) {
      if (this.#round.length === 0) {
        this.#timers.sort((one, other) => one.due - other.due)
        const timer = this.#timers.shift()
        this.pass(Math.max(0, (timer?.due ?? 0) - this.ms))
        timer?.call()
      } else {
        const now = this.#round
        this.#round = []
        for (const call of now) call()
      }
    }
  }

  pass(ms: number): void {
    this.ms += ms
    if (this.#servedMs !== undefined) this.#writes += ms / this.#servedMs
  }

  /** The time that ten turns of five milliseconds take. */
  tenTurns(): number {
    const began = this.ms
    const next = (left: number): void => {
      this.work.awaitTurn({
        takeTurn: () => {
          this.pass(5)
          this.work.spend(5)
          if (left > 1) next(left - 1)
        },
      })
    }
    next(10)
    this.run()
    return this.ms - began
  }
}

test('a turn never comes at once, and turns come in the order of requests', () => {
  const process = new Process()
  const seen: number[] = []
  for (const number of [1, 2, 3]) process.work.awaitTurn({ takeTurn: () => void seen.push(number) })
  assert.deepEqual(seen, [])
  process.run()
  assert.deepEqual(seen, [1, 2, 3])
})

test('all ready work runs between two turns', () => {
  const process = new Process()
  const seen: string[] = []
  process.work.awaitTurn({
    takeTurn() {
      seen.push('turn')
      process.nextRound(() => seen.push('other'))
    },
  })
  process.work.awaitTurn({ takeTurn: () => void seen.push('turn') })
  process.run()
  assert.deepEqual(seen, ['turn', 'other', 'turn'])
})

test('work that has used much time must wait for a turn', () => {
  const process = new Process()
  assert.equal(process.work.mustRest(), false)
  process.work.spend(5)
  assert.equal(process.work.mustRest(), true)
  process.work.awaitTurn({ takeTurn: () => assert.equal(process.work.mustRest(), false) })
  process.run()
})

test('while others are served, they get fourteen times the used time, and otherwise none', () => {
  const process = new Process()
  process.serves(1)
  process.tenTurns()
  // Each of ten turns is followed by its rest, and starts after that of the previous one.
  assert.equal(process.tenTurns(), 10 * (5 + 14 * 5))
  process.serves(undefined)
  process.tenTurns()
  assert.equal(process.tenTurns(), 10 * 5)
})

test('resting connections share one part of the time', () => {
  const process = new Process()
  const over: number[] = []
  for (const ms of [1, 1, 1]) process.work.rest(ms, () => over.push(process.ms))
  process.run()
  assert.deepEqual(over, [14, 28, 42])
})

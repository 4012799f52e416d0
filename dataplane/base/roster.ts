/** An array without holes for members that change with every request. */

export interface Member {
  /** Index in the roster, which only the roster writes; -1: in no roster. */
  seat: number
}

/**
 * Adds and removes in constant time. It is not a Set, because each outgrown table of a Set points to the next one: once
 * such a table is old, everything in later ones stays in memory. test/bench/micro/roster.ts: 260 ns and 23 MiB, a Set
 * 820 ns and 63 MiB.
 */
export class Roster<M extends Member> {
  readonly #members: M[] = []

  get size(): number {
    return this.#members.length
  }

  add(member: M): void {
    if (member.seat !== -1) return
    member.seat = this.#members.length
    this.#members.push(member)
  }

  remove(member: M): void {
    const { seat } = member
    if (seat === -1) return
    member.seat = -1
    const last = this.#members.pop()
    if (last === undefined || last === member) return
    last.seat = seat
    this.#members[seat] = last
  }

  /** A copy, so that members may leave during a loop over it. */
  list(): M[] {
    return this.#members.slice()
  }
}

/** The members of something that changes with every request, in an array without holes. */

export interface Member {
  /** Where it stands; the roster's to write. -1: nowhere. */
  seat: number
}

/**
 * Adds and removes in constant time. A Set would do, but each table a Set outgrows points to the next one: once such a
 * table is old, the collector keeps everything the later ones held, which doubled the cost of a request.
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

  /** A copy, so that members may leave while it is walked. */
  list(): M[] {
    return this.#members.slice()
  }
}

/** Adds the member `gw`, with the cost of the request, to the events of a stream that carry the usage of the answer. */
import { NumberText } from '../json/numbers.ts'
import { isRecord, type Json, parsed, parsedExactly, recordOf } from '../json/values.ts'
import type { AnswerCost, CostWriter } from '../wire/dialect.ts'

type Cost = () => AnswerCost

/** A line of data with an object; JSON has other line ends in its strings only. */
export const DATA = /(?<![^\r\n])(data: ?)(\{[^\r\n]*\})(?![^\r\n])/g

/** The member; undefined if there is nothing to state. The amount keeps all its digits. */
function gwOf({ usd, estimated }: AnswerCost): Json | undefined {
  if (usd === undefined && !estimated) return undefined
  return {
    ...(usd !== undefined && { cost_usd: new NumberText(usd) }),
    ...(estimated && { estimated }),
  }
}

/** `json` is an object that has members, but not this one. */
export function withGw(json: string, cost: AnswerCost): string {
  const gw = gwOf(cost)
  return gw === undefined ? json : `{"gw":${JSON.stringify(gw)},${json.slice(1)}`
}

/** `carries` says of each event whether it has the usage of the answer. */
export function pricedEvents(text: string, carries: (event: Json) => boolean, cost: Cost): string {
  return changedEvents(text, (json, event) => {
    if (!carries(event)) return json
    // The upstream may be a gateway that states its own cost.
    const { gw, ...rest } = event
    return withGw(gw === undefined ? json : JSON.stringify(rest), cost())
  })
}

function changedEvents(text: string, change: (json: string, event: Json) => string): string {
  return text.replaceAll(DATA, (line, start: string, json: string) => {
    const event = parsed(json)
    return isRecord(event) ? start + change(json, event) : line
  })
}

/** For an API whose streams always end with usage, in events of this type. */
export function openPricedEvents(wanted: string) {
  return (_request: unknown, cost: Cost): CostWriter => ({
    write: (text) => pricedEvents(text, ({ type }) => type === wanted, cost),
  })
}

/** The same for an API whose last event, of one of these types, has the usage in this member. */
export function openPricedMember(types: readonly unknown[], member: string) {
  return (_request: unknown, cost: Cost): CostWriter => ({
    write: (text) =>
      changedEvents(text, (json, { type }) => {
        if (!types.includes(type)) return json
        const event = recordOf(parsedExactly(json))
        const { gw: _, ...rest } = recordOf(event[member])
        return JSON.stringify({ ...event, [member]: { ...rest, gw: gwOf(cost()) } })
      }),
  })
}

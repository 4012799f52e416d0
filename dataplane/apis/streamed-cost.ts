/** Adds the member `gw`, with the cost of the request, to the events of a stream that carry the usage of the answer. */
import { isRecord, type Json, parsed } from '../json/values.ts'
import type { AnswerCost, CostWriter } from '../wire/dialect.ts'

/** A line of data with an object; JSON has other line ends in its strings only. */
export const DATA = /(?<![^\r\n])(data: ?)(\{[^\r\n]*\})(?![^\r\n])/g

/** The member as JSON text; undefined if there is nothing to state. The amount keeps all its digits. */
function gwMember({ usd, estimated }: AnswerCost): string | undefined {
  const members = [
    ...(usd === undefined ? [] : [`"cost_usd":${usd}`]),
    ...(estimated ? ['"estimated":true'] : []),
  ]
  return members.length === 0 ? undefined : `"gw":{${members.join(',')}}`
}

/** `json` is an object that has members, but not this one. */
export function withGw(json: string, cost: AnswerCost): string {
  const member = gwMember(cost)
  return member === undefined ? json : `{${member},${json.slice(1)}`
}

/** `carries` says of each event whether it has the usage of the answer. */
export function pricedEvents(
  text: string,
  carries: (event: Json) => boolean,
  cost: () => AnswerCost,
): string {
  return text.replaceAll(DATA, (line, start: string, json: string) => {
    const event = parsed(json)
    if (!isRecord(event) || !carries(event)) return line
    // The upstream may be a gateway that states its own cost.
    const { gw, ...rest } = event
    return start + withGw(gw === undefined ? json : JSON.stringify(rest), cost())
  })
}

/** For APIs whose streams always end with usage, in events of these types. */
export function openPricedEvents(types: readonly string[]) {
  return (_request: unknown, cost: () => AnswerCost): CostWriter => ({
    write: (text) => pricedEvents(text, ({ type }) => types.includes(String(type)), cost),
  })
}

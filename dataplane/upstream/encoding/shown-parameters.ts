/** A parameter that the gateway sets, as the trace shows it. */

const VALUE_MAX = 60

/** `temperature: 0.2 (default)`. Members of a vendor are shown without their values, which may be long or secret. */
export function shownParameter(name: string, value: unknown, isForced: boolean): string {
  const how = isForced ? 'forced' : 'default'
  const text = typeof value === 'object' || name.includes('.') ? '' : `: ${String(value)}`
  return `${name}${text.slice(0, VALUE_MAX)} (${how})`
}

/** Numbers and money for people: separators, and at most four significant decimals. Programs get the exact amount. */

const DECIMALS = 4
/** A nano-dollar. */
const DECIMALS_MAX = 9

/** `1,234.5`, `0.0001235`: an amount below one keeps four digits after its zeros. */
export function numberText(value: number, minimumFractionDigits = 0): string {
  const size = Math.abs(value)
  const zeros = size === 0 || size >= 1 ? 0 : -Math.floor(Math.log10(size)) - 1
  const maximumFractionDigits = Math.min(DECIMALS + zeros, DECIMALS_MAX)
  return value.toLocaleString('en-US', { minimumFractionDigits, maximumFractionDigits })
}

/** `1,234.50`, in dollars. */
export function moneyText(usd: number): string {
  return numberText(usd, 2)
}

/** Runs in a pod: prints the answer of an address. */
const [address = '', ...headers] = process.argv.slice(2)
const response = await fetch(address, {
  headers: Object.fromEntries(headers.map((header) => header.split(/: (.*)/s, 2))),
})
process.stdout.write(await response.text())

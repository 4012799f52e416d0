/** Options of commands that call the gateway as a client. */
import { Option } from 'commander'
import { urlOption } from './connection.ts'

/** Every user of the machine can see a key on a command line, but not the variable. */
export function keyOption(meaning: string): Option {
  return new Option('--key <key>', `${meaning}; better in the variable`).env('GW_KEY')
}

export function routeOption(): Option {
  return new Option('--route <name>', 'route or alias, as in `model`')
}

const EXAMPLE = 'https://gateway.example.com'

export function urlFlag(): Option {
  return new Option('--url <url>', 'address at which clients reach the gateway')
    .env('GW_URL')
    .argParser((text) => urlOption(text, EXAMPLE))
}

#!/usr/bin/env node
/** Starts the tool `gw` from its source; it behaves like the installed one. */
import './gw.js'

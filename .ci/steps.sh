# Runs steps one after the other, and says how long each took. `run` and `nightly` source it.

results=()
failed=0

# step NAME COMMAND...: runs the command, and notes its seconds. A failure is noted, too.
step() {
    local name=$1 began=$SECONDS result=passed
    shift
    printf '\n=== %s: %s\n' "$name" "$*"
    "$@" || { result=FAILED failed=1; }
    results+=("$(printf '%6d s  %-6s  %s' $((SECONDS - began)) "$result" "$name")")
    [ "$result" = passed ]
}

# What the steps took, and their sum. It is printed at the end of any run.
report() {
    printf '\n'
    printf '%s\n' "${results[@]}"
    printf '%6d s  in all\n' "$SECONDS"
}
trap report EXIT

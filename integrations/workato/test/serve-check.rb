# frozen_string_literal: true

# Runs check.rb with the arguments of each line of its input (JSON), and prints what it printed. Each run is a fork, because a start of
# Ruby takes longer than a poll.

require 'json'
require 'net/http'
require 'time'

CHECK = File.join(__dir__, '../check.rb')
$stdout.sync = true

$stdin.each_line do |line|
  out, out_end = IO.pipe
  err, err_end = IO.pipe
  pid = fork do
    $stdout.reopen(out_end)
    $stderr.reopen(err_end)
    ARGV.replace(JSON.parse(line))
    load CHECK
  end
  [out_end, err_end].each(&:close)
  stderr = Thread.new { err.read }
  stdout = out.read
  Process.wait(pid)
  puts JSON.generate(stdout: stdout, stderr: stderr.value, isSuccess: $?.success?)
end

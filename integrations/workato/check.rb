# frozen_string_literal: true

# Polls with the connector as Workato documents it, without Workato's gem: ruby check.rb BASE_URL TOKEN [SINCE]
# Prints the id of each lead, one a line, and stops at the first poll that finds nothing.

require 'json'
require 'net/http'
require 'time'

# The few words of Rails that Workato gives to connectors.
class Object
  def blank? = nil? || (respond_to?(:empty?) && empty?)
  def present? = !blank?
  def presence = present? ? self : nil
end

class String
  def to_time = Time.parse(self)
end

CONNECTOR = eval(File.read(File.join(__dir__, 'connector.rb')))

# Where the connector's lambdas run.
class Sandbox
  def initialize(connection)
    @connection = connection
  end

  def run(part, *arguments) = instance_exec(*arguments, &part)

  def call(method, *arguments) = run(CONNECTOR[:methods][method.to_sym], *arguments)

  def headers(values) = @headers = values

  def error(message) = raise(message)

  def get(path) = Request.new(self, path)

  def send_get(path, params)
    run(CONNECTOR[:connection][:authorization][:apply], @connection)
    uri = URI.join(run(CONNECTOR[:connection][:base_uri], @connection), path)
    uri.query = URI.encode_www_form(params)
    Net::HTTP.get_response(uri, @headers)
  end
end

# A request of Workato's SDK: sent when its answer is used.
class Request
  def initialize(sandbox, path)
    @sandbox = sandbox
    @path = path
  end

  def params(params) = tap { @params = params }

  def after_error_response(_codes, &block) = tap { @block = block }

  def answer
    @answer ||= begin
      response = @sandbox.send_get(@path, @params)
      @block.call(response.code.to_i, response.body, response, response.message) if response.code.to_i >= 400
      JSON.parse(response.body)
    end
  end

  def respond_to_missing?(...) = answer.respond_to?(...)

  def method_missing(...) = answer.public_send(...)
end

connection = { 'base_url' => ARGV.fetch(0), 'token' => ARGV.fetch(1) }
sandbox = Sandbox.new(connection)
sandbox.run(CONNECTOR[:test], connection).length
trigger = CONNECTOR[:triggers][:new_lead]
closure = nil
loop do
  page = sandbox.run(trigger[:poll], connection, { 'since' => ARGV[2] }, closure)
  closure = JSON.parse(JSON.generate(page[:next_poll]))
  page[:events].each do |lead|
    raise 'nothing to tell it by' if sandbox.run(trigger[:dedup], lead).blank?

    puts lead['id']
  end
  break unless page[:can_poll_more]
end
warn JSON.generate(closure)

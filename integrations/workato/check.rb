# frozen_string_literal: true

# Polls with the connector as Workato documents it, without Workato's gem: ruby check.rb BASE_URL TOKEN [SINCE [CLOSURE]]
# Prints the id of each lead, one a line, and stops at the first page that is not full. The closure for the next call goes to the
# standard error. An error of the connector is printed as its sentence alone, with exit code 1.

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

# What the connector itself reports.
class ConnectorError < StandardError; end

# Where the connector's lambdas run.
class Sandbox
  def initialize(connection)
    @connection = connection
  end

  def run(part, *arguments) = instance_exec(*arguments, &part)

  def call(method, *arguments) = run(CONNECTOR[:methods][method.to_sym], *arguments)

  def headers(values) = @headers = values

  def error(message) = raise(ConnectorError, message)

  def parse_json(text) = JSON.parse(text)

  def get(path) = Request.new(self, path)

  def send_get(path, params)
    run(CONNECTOR[:connection][:authorization][:apply], @connection)
    uri = URI.join(run(CONNECTOR[:connection][:base_uri], @connection), path)
    uri.query = URI.encode_www_form(params)
    Net::HTTP.get_response(uri, @headers)
  end
end

# A request of Workato's SDK: sent when its answer is used. Its blocks get header names in lower case, with underscores.
class Request
  def initialize(sandbox, path)
    @sandbox = sandbox
    @path = path
    @parse = ->(body) { JSON.parse(body) }
    @after = ->(_code, body, _headers) { body }
  end

  def params(params) = tap { @params = params }

  def response_format_raw = tap { @parse = ->(body) { body.dup.force_encoding(Encoding::BINARY) } }

  def after_error_response(_pattern, &block) = tap { @after_error = block }

  def after_response(&block) = tap { @after = block }

  def answer = @answer ||= read(send)

  def respond_to_missing?(...) = answer.respond_to?(...)

  def method_missing(...) = answer.public_send(...)

  private

  # Workato's HTTP library has a message of its own for a connection that is cut.
  def send
    @sandbox.send_get(@path, @params)
  rescue IOError, SystemCallError, Net::ProtocolError
    @sandbox.run(@after_error, nil, nil, nil, 'Server broke connection')
  end

  def read(response)
    code = response.code.to_i
    headers = response.each_header.to_h { |name, value| [name.tr('-', '_'), value] }
    if code >= 400
      @sandbox.run(@after_error, code, response.body, headers, response.message)
    else
      @sandbox.run(@after, code, @parse.call(response.body), headers)
    end
  end
end

def poll_all(connection, since, closure)
  sandbox = Sandbox.new(connection)
  sandbox.run(CONNECTOR[:test], connection).length
  trigger = CONNECTOR[:triggers][:new_lead]
  loop do
    page = sandbox.run(trigger[:poll], connection, { 'since' => since }, closure)
    closure = JSON.parse(JSON.generate(page[:next_poll]))
    page[:events].each do |lead|
      raise 'the lead has no dedup key' if sandbox.run(trigger[:dedup], lead).blank?

      puts lead['id']
    end
    break unless page[:can_poll_more]
  end
  warn JSON.generate(closure)
end

begin
  poll_all({ 'base_url' => ARGV.fetch(0), 'token' => ARGV.fetch(1) }, ARGV[2], ARGV[3] && JSON.parse(ARGV[3]))
rescue ConnectorError => e
  abort e.message
end

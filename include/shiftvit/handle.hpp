/* Results, errors and owners of handles, on which the other C++ headers are built. */
#ifndef SHIFTVIT_HANDLE_HPP
#define SHIFTVIT_HANDLE_HPP

#if __cplusplus < 201703L && (!defined(_MSVC_LANG) || _MSVC_LANG < 201703L)
#error "the classes of shiftvit need C++17 or later: -std=c++17, or /std:c++17"
#endif

#include <shiftvit/shiftvit.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#if !defined(SHIFTVIT_NO_EXCEPTIONS) && !defined(__cpp_exceptions)
#define SHIFTVIT_NO_EXCEPTIONS
#endif

/* The classes of the two kinds are different types, so the linker never takes one for the other. */
#ifdef SHIFTVIT_NO_EXCEPTIONS
#define SHIFTVIT_KIND with_status
#else
#define SHIFTVIT_KIND with_exceptions
#endif

namespace shiftvit
{
inline namespace SHIFTVIT_KIND
{

#ifdef SHIFTVIT_NO_EXCEPTIONS

/* What a call returns: true if it succeeded. */
class [[nodiscard]] status
{
  public:
    /* The status and the message of a call of the C interface. */
    explicit status(svit_status code, const svit_error &record) noexcept : code_(code)
    {
        if (code != SVIT_OK)
            std::memcpy(message_, record.message, sizeof message_);
    }
    /* True after success. */
    explicit operator bool() const noexcept
    {
        return code_ == SVIT_OK;
    }
    /* SVIT_OK or the code of the failure. */
    svit_status code() const noexcept
    {
        return code_;
    }
    /* Names the argument, field or file, its value and what is accepted; "" after success. */
    const char *message() const noexcept
    {
        return message_;
    }

  private:
    svit_status code_;
    char message_[sizeof(svit_error::message)] = "";
};

/* What a function returns that can fail: shiftvit::status, or void where failures are thrown. */
using result = status;
#else
/* A failed call. what() is the library's message. */
class error : public std::exception
{
  public:
    /* The status and the message of a call of the C interface. */
    explicit error(svit_status code, const svit_error &record) noexcept : code_(code)
    {
        std::memcpy(message_, record.message, sizeof message_);
    }
    /* The code of the failure, never SVIT_OK. */
    svit_status code() const noexcept
    {
        return code_;
    }
    /* Names the argument, field or file, its value and what is accepted. */
    const char *what() const noexcept override
    {
        return message_;
    }

  private:
    svit_status code_;
    char message_[sizeof(svit_error::message)] = "";
};

using result = void;
#endif

/* Returns an empty error record with its size, for functions of the C interface and for arrays of
 * errors, such as that of predictor::predict_files. */
inline svit_error error_record() noexcept
{
    return {sizeof(svit_error), SVIT_OK, ""};
}

/* Ends a call of the C interface that no class has, as those of the classes end: throws
 * shiftvit::error, or returns the status. `record` is the one that the call got. */
inline result check(svit_status code, const svit_error &record)
{
#ifdef SHIFTVIT_NO_EXCEPTIONS
    return status(code, record);
#else
    if (code != SVIT_OK)
        throw error(code, record);
#endif
}

namespace detail
{

/* Calls `function` with the arguments and an error record behind them. */
template <class... Parameters, class... Arguments>
result call(svit_status (*function)(Parameters...), Arguments &&...arguments)
{
    svit_error record = error_record();
    svit_status code = function(std::forward<Arguments>(arguments)..., &record);
    return check(code, record);
}

/* Resizes an empty buffer; SVIT_E_MEMORY if there is no memory. Without exceptions a container ends
 * the process then, so the memory is allocated and freed on trial before. */
template <class Bytes>
svit_status resize(Bytes &buffer, std::size_t bytes, svit_error &record) noexcept
{
#ifndef SHIFTVIT_NO_EXCEPTIONS
    try {
        buffer.resize(bytes);
        return SVIT_OK;
    } catch (const std::exception &) {
    }
#else
    void *trial = ::operator new(bytes + 1, std::nothrow); /* a string adds a NUL byte */
    if (trial) {
        ::operator delete(trial);
        buffer.resize(bytes);
        return SVIT_OK;
    }
#endif
    char message[80];
    std::snprintf(message, sizeof message, "%zu bytes for the result could not be allocated",
                  bytes);
    return svit_error_set(&record, SVIT_E_MEMORY, message);
}

/* Reads what the library writes into a buffer: its size first. `write` gets the buffer, its
 * capacity, the size and an error record. */
template <class Bytes, class Write>
svit_status read_buffer(Bytes &buffer, Write write, svit_error &record)
{
    std::size_t needed = 0;
    svit_status code = write(nullptr, std::size_t(0), &needed, &record);
    if (needed > 0) {
        code = resize(buffer, needed, record);
        if (code == SVIT_OK)
            code = write(buffer.data(), buffer.size(), &needed, &record);
    }
    return code;
}

/* Reads a text; if that fails, `text` is as before. */
template <class Write> result read_text(std::string &text, Write write)
{
    svit_error record = error_record();
    std::string buffer;
    svit_status code = read_buffer(buffer, write, record);
    if (code == SVIT_OK) {
        buffer.resize(std::strlen(buffer.c_str()));
        text = std::move(buffer);
    }
    return check(code, record);
}

/* Reads bytes; if that fails, `bytes` are as before. */
template <class Write> result read_bytes(std::vector<std::uint8_t> &bytes, Write write)
{
    svit_error record = error_record();
    std::vector<std::uint8_t> buffer;
    svit_status code = read_buffer(buffer, write, record);
    if (code == SVIT_OK)
        bytes = std::move(buffer);
    return check(code, record);
}

template <class Config> Config defaults(svit_status (*init)(Config *, std::size_t)) noexcept
{
    Config config;
    init(&config, sizeof config); /* The size is right, so this cannot fail. */
    return config;
}

} // namespace detail

/* Owns a handle, which `Free` frees. */
template <class Raw, void (*Free)(Raw *)> class handle
{
  public:
    /* An object without a handle. */
    handle() noexcept = default;
    /* Takes a handle of the C interface over; nullptr is allowed. */
    explicit handle(Raw *raw) noexcept : raw_(raw)
    {
    }
    handle(const handle &) = delete;
    handle &operator=(const handle &) = delete;
    /* Takes the handle of another object over, which is false then. */
    handle(handle &&other) noexcept : raw_(other.release())
    {
    }
    /* Frees the handle and takes that of another object over, which is false then. */
    handle &operator=(handle &&other) noexcept
    {
        reset(other.release());
        return *this;
    }
    /* Frees the handle. */
    ~handle()
    {
        Free(raw_);
    }

    /* True if there is a handle. */
    explicit operator bool() const noexcept
    {
        return raw_ != nullptr;
    }
    /* Lends the handle to functions of the C interface; nullptr if there is none. */
    Raw *get() const noexcept
    {
        return raw_;
    }
    /* Gives the handle up to the caller, who frees it. */
    Raw *release() noexcept
    {
        return std::exchange(raw_, nullptr);
    }
    /* Frees the handle and takes another one over. */
    void reset(Raw *raw = nullptr) noexcept
    {
        Free(std::exchange(raw_, raw));
    }

  protected:
    /* Calls a function that creates a handle, and takes the handle over if there is one. */
    template <class... Parameters, class... Arguments>
    result take(svit_status (*create)(Raw **, Parameters...), Arguments &&...arguments)
    {
        svit_error record = error_record();
        Raw *raw = nullptr;
        svit_status code = create(&raw, std::forward<Arguments>(arguments)..., &record);
        if (code == SVIT_OK)
            reset(raw);
        return shiftvit::check(code, record);
    }

  private:
    Raw *raw_ = nullptr;
};

/* A handle that another object owns, and keeps for as long as this one is used. A copy is
 * another such view. */
template <class Raw> class view
{
  public:
    /* Borrows a handle of the C interface; nullptr is allowed. */
    explicit view(Raw *raw) noexcept : raw_(raw)
    {
    }
    /* True if there is a handle. */
    explicit operator bool() const noexcept
    {
        return raw_ != nullptr;
    }
    /* Lends the handle to functions of the C interface; nullptr if there is none. */
    Raw *get() const noexcept
    {
        return raw_;
    }

  private:
    Raw *raw_;
};

} // namespace SHIFTVIT_KIND
} // namespace shiftvit

#endif
